// The shared-string table: text that repeats is stored once. Fixed memory: when the budget is used
// up, new text is written inline and known text is still found.

#ifndef WAYBILL_XLSX_SHARED_STRINGS_H_
#define WAYBILL_XLSX_SHARED_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "xlsx/cell_text.h"

namespace waybill::xlsx {

class XmlBuffer;

// Not thread-safe. Which texts are shared depends on their order alone, so equal input gives equal
// files. Crafted collisions cannot slow it down: a text that finds no place within a few steps is
// simply not shared.
class SharedStrings {
 public:
  explicit SharedStrings(std::size_t budget_bytes);

  struct Found {
    std::uint32_t index = 0;
    bool fresh = false;  // added by this call
  };
  // The place of `text` (UTF-8 as it will be shown, at most kMaxTextBytes) in the table; nothing
  // when it has none.
  static constexpr std::size_t kMaxTextBytes = 1'024;
  std::optional<Found> find_or_add(std::string_view text);

  // From now on finds only texts that have come more than once, so that a small table stays quick;
  // one that comes again later is added again.
  void forget_singles();

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t references() const { return references_; }
  [[nodiscard]] std::size_t memory_bytes() const;

  // The part xl/sharedStrings.xml.
  void put_part(XmlBuffer& out) const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t offset = 0;
    std::uint16_t size = 0;
    bool repeated = false;
    bool findable = true;
  };

  [[nodiscard]] std::string_view text_of(const Entry& entry) const {
    return {text_.get() + entry.offset, entry.size};
  }
  // Nothing when the budget does not allow it.
  std::optional<std::uint32_t> add(std::string_view text, std::uint64_t hash);
  void rebuild(std::size_t slots);

  std::size_t text_capacity_ = 0;
  std::size_t entry_capacity_ = 0;
  std::size_t text_used_ = 0;
  std::uint64_t references_ = 0;
  std::unique_ptr<char[]> text_;  // never moves; pages that were not written cost nothing
  std::vector<Entry> entries_;
  std::size_t findable_ = 0;          // entries with a slot
  std::vector<std::uint32_t> slots_;  // index + 1, 0 = free; a power of two, at most half full
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_SHARED_STRINGS_H_
