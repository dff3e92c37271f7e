#include "xlsx/key_table.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "xlsx/json_text.h"

namespace waybill::xlsx {
namespace {

// Length of the key up to and with its closing quote.
std::optional<std::size_t> quoted_size(const char* raw, std::size_t available) {
  for (std::size_t i = 0; i < available; ++i) {
    if (raw[i] == '\\') {
      ++i;
    } else if (raw[i] == '"') {
      return i + 1;
    }
  }
  return std::nullopt;
}

}  // namespace

KeyTable::Learned::Learned(std::string_view spelling, int its_column)
    : quoted(spelling), column(its_column) {
  char bytes[sizeof start] = {};
  char ones[sizeof mask] = {};
  const std::size_t n = std::min(quoted.size(), sizeof bytes);
  std::memcpy(bytes, quoted.data(), n);
  std::memset(ones, 0xFF, n);
  std::memcpy(start, bytes, sizeof start);
  std::memcpy(mask, ones, sizeof mask);
}

KeyTable::KeyTable(const std::vector<Column>& columns, std::size_t max_undeclared)
    : max_undeclared_(max_undeclared) {
  for (std::size_t i = 0; i < columns.size(); ++i)
    columns_.emplace(columns[i].key, static_cast<int>(i));
}

int KeyTable::find_slow(const char* raw, std::size_t available) {
  const std::optional<std::size_t> size = quoted_size(raw, available);
  if (!size) return kMalformed;
  const std::string quoted(raw, *size);
  if (const auto known = learned_at_.find(quoted); known != learned_at_.end()) {
    expected_ = known->second + 1;
    return learned_[known->second].column;
  }
  const std::string_view inside(quoted.data(), quoted.size() - 1);
  const DecodedString key = decode_json_string(inside, inside.size(), scratch_);
  if (!key.valid) return kMalformed;
  const std::string name(key.text.view());
  const auto found = columns_.find(name);
  const int column = found == columns_.end() ? kNoColumn : found->second;
  if (column == kNoColumn && undeclared_.size() < max_undeclared_) {
    undeclared_.insert(std::hash<std::string>{}(name));
  }
  learn(quoted, column);
  return column;
}

void KeyTable::learn(std::string_view quoted, int column) {
  if (quoted.size() > kMaxLearnedBytes || learned_.size() == kMaxLearned) return;
  learned_at_.emplace(quoted, learned_.size());
  learned_.emplace_back(quoted, column);
  expected_ = learned_.size();
}

}  // namespace waybill::xlsx
