// One range of a file, as a client asked for it (RFC 9110 §14).

#ifndef WAYBILL_API_HTTP_RANGE_H_
#define WAYBILL_API_HTTP_RANGE_H_

#include <cstdint>
#include <string_view>

namespace waybill::api {

struct ByteRange {
  enum class Kind : std::uint8_t {
    kWhole,  // no range, one that cannot be understood, or several: the whole file is a right
             // answer to them
    kPart,
    kUnsatisfiable,  // 416
  };
  Kind kind = Kind::kWhole;
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

// `header` is the value of Range; empty = none. Several ranges are not served: a set of overlapping
// ones would send more than the file.
ByteRange parse_range(std::string_view header, std::uint64_t file_size);

// Whether an If-None-Match list names `etag` (with its quotes) or is "*". Weak comparison.
bool matches_etag(std::string_view header, std::string_view etag);

}  // namespace waybill::api

#endif  // WAYBILL_API_HTTP_RANGE_H_
