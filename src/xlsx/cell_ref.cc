#include "xlsx/cell_ref.h"

#include "xlsx/parts.h"
#include "xlsx/writer.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kMaxLetters = 3;
constexpr std::size_t kMaxDigits = 7;

}  // namespace

std::optional<std::int64_t> parse_row_number(std::string_view text) {
  if (text.empty() || text.size() > kMaxDigits || text.front() == '0') return std::nullopt;
  std::int64_t row = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    row = row * 10 + (c - '0');
  }
  return row <= kMaxRowsPerSheet ? std::optional(row) : std::nullopt;
}

std::optional<CellRef> parse_cell_ref(std::string_view text) {
  std::size_t column = 0;
  std::size_t letters = 0;
  for (; letters < text.size() && letters <= kMaxLetters; ++letters) {
    const unsigned letter = static_cast<unsigned char>(text[letters] | 0x20) - 'a';
    if (letter >= 26) break;
    column = column * 26 + letter + 1;
  }
  if (letters == 0 || column > kMaxColumns) return std::nullopt;
  const std::optional<std::int64_t> row = parse_row_number(text.substr(letters));
  if (!row) return std::nullopt;
  return CellRef{column - 1, *row};
}

std::string cell_name(std::size_t column, std::int64_t row) {
  return column_letters(column) + std::to_string(row);
}

}  // namespace waybill::xlsx
