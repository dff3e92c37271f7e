// Arbitrary text with arbitrary marks, in arbitrary pieces: what the row coder makes of it must
// inflate to the text.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "base/check.h"
#include "xlsx/row_coder.h"

namespace {

namespace xlsx = waybill::xlsx;
constexpr std::size_t kColumns = 3;

// Every fourth byte or so of the input is a command, the rest is text.
struct Input {
  std::string_view bytes;
  unsigned take() {
    if (bytes.empty()) return 0;
    const auto c = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return c;
  }
};

std::string inflated(const std::string& packed, std::size_t size) {
  std::string out(size + 1, '\0');
  z_stream stream{};
  WAYBILL_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "inflateInit2");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  WAYBILL_CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END, "the stream does not inflate");
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{{reinterpret_cast<const char*>(data), size}};
  const unsigned settings = input.take();
  xlsx::RowCoder coder(kColumns, (settings & 1) != 0 ? xlsx::RowCoder::Effort::kSeveralValues
                                                     : xlsx::RowCoder::Effort::kOneValue);
  coder.begin();
  std::string all;
  std::string text(xlsx::RowCoder::kPadding, '\0');  // what the coder sees, with room around it
  std::string packed;
  std::size_t done = 0;
  std::vector<xlsx::ValueMark> marks;
  const auto code = [&] {
    const std::size_t to = text.size() - xlsx::RowCoder::kPadding;
    text.append(xlsx::RowCoder::kPadding, '\0');
    coder.code(text.data() + xlsx::RowCoder::kPadding, done, to, marks);
    text.resize(text.size() - xlsx::RowCoder::kPadding);
    packed += coder.output();
    coder.clear_output();
    marks.clear();
    done = to;
  };
  while (!input.bytes.empty()) {
    const unsigned command = input.take();
    const std::size_t repeat = (command & 7) == 7 ? 1 + input.take() * 8 : 1;
    const std::size_t length = std::min<std::size_t>(command >> 3, input.bytes.size());
    const auto begin = static_cast<std::uint32_t>(text.size() - xlsx::RowCoder::kPadding);
    for (std::size_t i = 0; i < repeat; ++i) {
      text += input.bytes.substr(0, length);
      all += input.bytes.substr(0, length);
    }
    input.bytes.remove_prefix(length);
    const auto end = static_cast<std::uint32_t>(text.size() - xlsx::RowCoder::kPadding);
    if ((command & 7) < 5)
      marks.push_back({begin, end, static_cast<std::uint32_t>(command % kColumns), command & 1});
    if ((command & 7) == 5 || end - done > xlsx::RowCoder::kMaxTextBytes / 4) code();
    if ((command & 7) == 6 && done > xlsx::kMaxDistance && marks.empty()) {
      const std::size_t gone = done - xlsx::kMaxDistance;
      text.erase(xlsx::RowCoder::kPadding, gone);
      coder.cut_front(gone);
      done -= gone;
    }
  }
  code();
  coder.end();
  packed += coder.output();
  WAYBILL_CHECK(inflated(packed, all.size()) == all, "the text came back changed");
  return 0;
}
