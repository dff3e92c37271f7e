// Which column a JSON key feeds. Rows of one page nearly always carry the same keys in the same
// order, so the table remembers that order and usually answers with one comparison.

#ifndef WAYBILL_XLSX_KEY_TABLE_H_
#define WAYBILL_XLSX_KEY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "xlsx/cell_text.h"
#include "xlsx/writer.h"

namespace waybill::xlsx {

// Not thread-safe. Memory is bounded: kMaxLearned spellings of at most kMaxLearnedBytes, and a hash
// for each undeclared name up to `max_undeclared`.
class KeyTable {
 public:
  static constexpr int kNoColumn = -1;
  static constexpr int kMalformed = -2;

  KeyTable(const std::vector<Column>& columns, std::size_t max_undeclared);

  // Call before the first key of a row.
  void begin_row() { expected_ = 0; }

  // The column of the key whose first byte is `raw`, of which `available` bytes are readable and
  // which a quote ends; kNoColumn where there is none, kMalformed where the key is not JSON.
  int find(const char* raw, std::size_t available) {
    for (std::size_t i = expected_; i < learned_.size() && i < expected_ + 2; ++i) {
      const Learned& next = learned_[i];
      const std::size_t n = next.quoted.size();
      if (n <= available && std::memcmp(raw, next.quoted.data(), n) == 0) {
        expected_ = i + 1;
        return next.column;
      }
    }
    return find_slow(raw, available);
  }

  [[nodiscard]] std::int64_t undeclared() const {
    return static_cast<std::int64_t>(undeclared_.size());
  }

 private:
  static constexpr std::size_t kMaxLearned = kMaxColumns + 1'000;
  static constexpr std::size_t kMaxLearnedBytes = 256;

  struct Learned {
    std::string quoted;  // as it stands in the page, closing quote included
    int column = kNoColumn;
  };

  int find_slow(const char* raw, std::size_t available);
  void learn(std::string_view quoted, int column);

  const std::size_t max_undeclared_;
  std::unordered_map<std::string, int> columns_;             // by key
  std::unordered_map<std::string, std::size_t> learned_at_;  // by spelling
  std::vector<Learned> learned_;
  std::size_t expected_ = 0;
  std::unordered_set<std::size_t> undeclared_;  // hashes of names
  TextScratch scratch_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_KEY_TABLE_H_
