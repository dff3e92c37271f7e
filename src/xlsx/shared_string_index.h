// The shared strings of a workbook by their number, in bounded memory: texts and their places are
// pages, of which those that do not fit lie in unlinked temporary files. Sheets use strings mostly
// in the order of the table, so few pages are read twice.

#ifndef WAYBILL_XLSX_SHARED_STRING_INDEX_H_
#define WAYBILL_XLSX_SHARED_STRING_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "xlsx/paged_bytes.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {

inline constexpr std::uint64_t kMaxSharedStrings = 64u << 20;
inline constexpr std::size_t kSharedTextMemoryBytes = 6u << 20;
inline constexpr std::size_t kSharedPlaceMemoryBytes = 1u << 20;

// Not thread-safe.
class SharedStringIndex {
 public:
  SharedStringIndex(std::uint64_t max_temp_bytes, const std::string& temp_folder);

  // Reads the whole part. Once.
  base::Status load(const ZipReader& zip, const ZipPart& part, InflateBudget& budget);
  [[nodiscard]] std::uint64_t size() const { return count_; }
  // A view that is valid until the next call. REQUIRES: index < size().
  base::Result<std::string_view> text(std::uint64_t index);
  [[nodiscard]] bool spilled() const { return texts_.spilled() || places_.spilled(); }

 private:
  class Events;
  base::Status add(std::string_view text);
  base::Status add_place();

  PagedBytes texts_;
  PagedBytes places_;  // where each text begins in texts_, and where the last one ends
  std::uint64_t count_ = 0;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_SHARED_STRING_INDEX_H_
