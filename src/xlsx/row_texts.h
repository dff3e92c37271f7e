// Holds the texts of one row, so that they stay where they are until the next row.

#ifndef WAYBILL_XLSX_ROW_TEXTS_H_
#define WAYBILL_XLSX_ROW_TEXTS_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace waybill::xlsx {

// Not thread-safe. Keeps its blocks from row to row.
class RowTexts {
 public:
  explicit RowTexts(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Everything that was added is gone.
  void clear() {
    large_.clear();
    block_ = 0;
    used_ = 0;
    bytes_ = 0;
  }

  // A copy; nothing when the row's texts are together too long.
  std::optional<std::string_view> add(std::string_view text) {
    if (text.size() > max_bytes_ - bytes_) return std::nullopt;
    bytes_ += text.size();
    if (text.size() > kLargeBytes) {
      large_.push_back(std::make_unique<char[]>(text.size()));
      return copy(large_.back().get(), text);
    }
    if (block_ < blocks_.size() && kBlockBytes - used_ < text.size()) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) blocks_.push_back(std::make_unique<char[]>(kBlockBytes));
    char* to = blocks_[block_].get() + used_;
    used_ += text.size();
    return copy(to, text);
  }

 private:
  static constexpr std::size_t kBlockBytes = 256u << 10;
  static constexpr std::size_t kLargeBytes = 32u << 10;  // so that little of a block is wasted

  static std::string_view copy(char* to, std::string_view text) {
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

  const std::size_t max_bytes_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::unique_ptr<char[]>> large_;
  std::size_t block_ = 0;  // that is being filled
  std::size_t used_ = 0;   // bytes of it
  std::size_t bytes_ = 0;  // of all texts
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_ROW_TEXTS_H_
