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

  // The column of the key whose first byte is `raw`, of which `available` bytes belong to the page
  // and which a quote ends; kNoColumn where there is none, kMalformed where the key is not JSON.
  // REQUIRES: kTextPadding readable bytes behind the page.
  int find(const char* raw, std::size_t available) {
    for (std::size_t i = expected_; i < learned_.size() && i < expected_ + 2; ++i) {
      if (!learned_[i].matches(raw, available)) continue;
      expected_ = i + 1;
      return learned_[i].column;
    }
    return find_slow(raw, available);
  }

  [[nodiscard]] std::int64_t undeclared() const {
    return static_cast<std::int64_t>(undeclared_.size());
  }

 private:
  static constexpr std::size_t kMaxLearned = kMaxColumns + 1'000;
  static constexpr std::size_t kMaxLearnedBytes = 256;

  // A spelling as it stands in the page, closing quote included.
  struct Learned {
    Learned(std::string_view spelling, int its_column);
    bool matches(const char* raw, std::size_t available) const {
      std::uint64_t words[2];
      std::memcpy(words, raw, sizeof words);
      if ((((words[0] ^ start[0]) & mask[0]) | ((words[1] ^ start[1]) & mask[1])) != 0)
        return false;
      const std::size_t n = quoted.size();
      return n <= sizeof words || (n <= available && std::memcmp(raw, quoted.data(), n) == 0);
    }
    std::uint64_t start[2] = {};  // its first bytes, so that a short key needs no call
    std::uint64_t mask[2] = {};   // all ones where it has bytes
    std::string quoted;
    int column;
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
