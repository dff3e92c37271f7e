// Bytes of a connection, in pieces of sizes that the input chooses. Nothing may crash, hang, or
// hold more than the limits allow; and what is accepted must not depend on how the bytes were cut.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "http/request_parser.h"
#include "http/target.h"

namespace {

using waybill::http::Limits;
using waybill::http::RequestParser;

constexpr std::size_t kMaxBody = 4'096;
constexpr std::size_t kComparedBytes = 2'000;

// Everything that was understood, as one text.
std::string read_all(std::string_view input, std::size_t piece) {
  Limits limits;
  limits.max_header_bytes = 2'048;
  limits.max_target_bytes = 512;
  std::string seen;
  std::string buffer;
  const auto more = [&] {
    const std::size_t n = std::min(piece, input.size());
    buffer.append(input.substr(0, n));
    input.remove_prefix(n);
    return n > 0;
  };
  for (;;) {
    RequestParser parser(limits);
    auto state = parser.feed_head(buffer);
    while (state == RequestParser::State::kNeedMore && more()) state = parser.feed_head(buffer);
    if (state != RequestParser::State::kDone) return seen;
    const auto target = waybill::http::parse_target(parser.head().target);
    seen += parser.head().method + ' ' + parser.head().target + '\n';
    if (std::holds_alternative<waybill::http::Target>(target)) {
      const std::string& path = std::get<waybill::http::Target>(target).path;
      WAYBILL_CHECK(path.find("/../") == std::string::npos && !path.ends_with("/.."),
                    "no traversal survives");
    }
    for (const auto& [name, value] : parser.head().headers) {
      WAYBILL_CHECK(value.find_first_of("\r\n") == std::string::npos,
                    "no line end inside a header");
      seen += name + ':' + value + '\n';
    }
    if (parser.head().content_length.value_or(0) > kMaxBody) return seen;
    state = parser.feed_body(buffer, kMaxBody);
    while (state == RequestParser::State::kNeedMore && more())
      state = parser.feed_body(buffer, kMaxBody);
    if (state != RequestParser::State::kDone) return seen;
    const std::string body = parser.take_body();
    WAYBILL_CHECK(body.size() <= kMaxBody, "the body's limit holds");
    seen += body + '\n';
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = read_all(input, size == 0 ? 1 : size);
  const std::string pieces = read_all(input, size == 0 ? 1 : 1 + data[0] % 16u);
  // Longer inputs can run into a limit on what is buffered in one way and not in the other.
  if (size > kComparedBytes) return 0;
  WAYBILL_CHECK(whole == pieces, "the same bytes are the same requests, however they arrive");
  return 0;
}
