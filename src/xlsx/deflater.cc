#include "xlsx/deflater.h"

#include <algorithm>
#include <vector>

#include <isa-l.h>
#include <zlib.h>

#include "base/check.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kMaxStepBytes = 1u << 30;  // both libraries count a call's bytes in 32 bits
constexpr std::uint32_t kIgzipLevel = 1;
constexpr int kZlibLevel = 6;
constexpr int kZlibMemLevel = 8;

class IgzipDeflater final : public Deflater {
 public:
  void begin() override {
    isal_deflate_init(&stream_);
    stream_.level = kIgzipLevel;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_DEFLATE;
    stream_.flush = NO_FLUSH;
  }

  std::size_t run(std::string_view& in, bool last, std::span<char> out) override {
    if (stream_.internal_state.state == ZSTATE_END) return 0;
    const std::size_t step = std::min(in.size(), kMaxStepBytes);
    const auto room = static_cast<std::uint32_t>(std::min(out.size(), kMaxStepBytes));
    // ISA-L reads through a pointer to non-const.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<std::uint32_t>(step);
    stream_.end_of_stream = last && step == in.size() ? 1 : 0;
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = room;
    const int result = isal_deflate(&stream_);
    WAYBILL_CHECK(result == COMP_OK, "isal_deflate refused its settings");
    in.remove_prefix(step - stream_.avail_in);
    return room - stream_.avail_out;
  }

 private:
  isal_zstream stream_{};
  std::vector<std::uint8_t> level_buffer_ = std::vector<std::uint8_t>(ISAL_DEF_LVL1_DEFAULT);
};

class ZlibDeflater final : public Deflater {
 public:
  ZlibDeflater() {
    const int result = deflateInit2(&stream_, kZlibLevel, Z_DEFLATED, -MAX_WBITS, kZlibMemLevel,
                                    Z_DEFAULT_STRATEGY);
    WAYBILL_CHECK(result == Z_OK, "deflateInit2 refused its settings or found no memory");
  }
  ~ZlibDeflater() override { deflateEnd(&stream_); }
  ZlibDeflater(const ZlibDeflater&) = delete;
  ZlibDeflater& operator=(const ZlibDeflater&) = delete;

  void begin() override { deflateReset(&stream_); }

  std::size_t run(std::string_view& in, bool last, std::span<char> out) override {
    const std::size_t step = std::min(in.size(), kMaxStepBytes);
    const auto room = static_cast<std::uint32_t>(std::min(out.size(), kMaxStepBytes));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(step);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = room;
    // Z_BUF_ERROR only says that there was nothing to do.
    const int result = deflate(&stream_, last && step == in.size() ? Z_FINISH : Z_NO_FLUSH);
    WAYBILL_CHECK(result != Z_STREAM_ERROR, "deflate called out of order");
    in.remove_prefix(step - stream_.avail_in);
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<Deflater> make_deflater(Compression compression) {
  if (compression == Compression::kSmall) return std::make_unique<ZlibDeflater>();
  return std::make_unique<IgzipDeflater>();
}

std::uint32_t crc32(std::uint32_t crc, std::string_view bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace waybill::xlsx
