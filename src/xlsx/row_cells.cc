// The typed half of the row writer: values of the program instead of JSON text.

#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <variant>

#include "xlsx/cell_date.h"
#include "xlsx/json_rows.h"
#include "xlsx/json_text.h"
#include "xlsx/row_writer.h"

namespace waybill::xlsx {
namespace {

constexpr std::int64_t kMaxNumber = 999'999'999'999'999;  // kSignificantDigits digits
constexpr std::size_t kMaxDigits = 40;                    // of an integer or a shortest double

bool is_ascii(std::string_view text) {
  std::uint64_t all = 0;
  std::size_t i = 0;
  for (; i + sizeof all <= text.size(); i += sizeof all) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    all |= word;
  }
  for (; i < text.size(); ++i) all |= static_cast<unsigned char>(text[i]);
  return (all & 0x8080'8080'8080'8080) == 0;
}

// For moments that no serial number has. Beyond the calendar of the C library: the number of
// seconds.
std::string iso_time(std::int64_t local_unix_seconds) {
  const auto seconds = static_cast<std::time_t>(local_unix_seconds);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return std::to_string(local_unix_seconds);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return {text, size};
}

// Shortest decimal form that reads back to the same double. Amounts with two decimals are most of
// what there is, and integers are printed several times as fast.
char* put_shortest(char* p, double number) {
  const double cents = number * 100.0;
  if (std::abs(cents) < 1e15 && number != 0) {
    const auto whole = static_cast<std::int64_t>(cents + (cents < 0 ? -0.5 : 0.5));
    if (static_cast<double>(whole) / 100.0 == number) {
      if (whole < 0) *p++ = '-';
      const std::int64_t size = whole < 0 ? -whole : whole;
      p = std::to_chars(p, p + kMaxDigits, size / 100).ptr;
      const auto fraction = static_cast<int>(size % 100);
      if (fraction == 0) return p;
      *p++ = '.';
      *p++ = static_cast<char>('0' + fraction / 10);
      if (fraction % 10 != 0) *p++ = static_cast<char>('0' + fraction % 10);
      return p;
    }
  }
  return std::to_chars(p, p + kMaxDigits, number).ptr;
}

}  // namespace

base::Status RowWriter::put_cells(std::int64_t number, std::span<const CellValue> cells) {
  begin_row(number);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::visit([&](const auto& value) { put_typed(plans_[i], value); }, cells[i]);
  }
  return end_row();
}

void RowWriter::put_typed(Plan& plan, std::int64_t number) {
  if (number > kMaxNumber || number < -kMaxNumber) {
    char digits[kMaxDigits];
    ++counters_.integers_as_text;
    put_digits(plan, {digits, std::to_chars(digits, digits + kMaxDigits, number).ptr});
    return;
  }
  char* p = begin_number(plan);
  end_number(plan, p, std::to_chars(p, p + kMaxDigits, number).ptr);
}

void RowWriter::put_typed(Plan& plan, double number) {
  if (std::isnormal(number)) {
    char* p = begin_number(plan);
    end_number(plan, p, put_shortest(p, number));
  } else if (number == 0) {
    put_typed(plan, std::int64_t{0});
  } else {
    char text[kMaxDigits];
    const char* const end = std::to_chars(text, text + kMaxDigits, number).ptr;
    put_invalid(plan, copied_.assign({text, static_cast<std::size_t>(end - text)}));
  }
}

void RowWriter::put_typed(Plan& plan, std::string_view text) {
  if (!is_ascii(text) && !is_utf8(text)) {
    compact_.clear();
    counters_.text_repaired += append_repaired(compact_, text);
    text = compact_;
  }
  put_text(plan, copied_.assign(text));
}

void RowWriter::put_typed(Plan& plan, LocalTime time) {
  if (const std::optional<Serial> serial = serial_of(time.unix_seconds)) {
    put_serial_cell(plan, *serial);
    return;
  }
  put_invalid(plan, copied_.assign(iso_time(time.unix_seconds)));
}

}  // namespace waybill::xlsx
