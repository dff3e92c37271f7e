#include "xlsx/cell_value.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "xlsx/cell_date.h"
#include "xlsx/date_serial.h"

namespace waybill::xlsx {
namespace {

CellKind kind_of(const DateTime& date) {
  if (!date.has_date()) return CellKind::kTime;
  return date.has_time() ? CellKind::kDateTime : CellKind::kDate;
}

void set_date(Cell& cell, NumberClass number_class, bool date_1904) {
  const std::optional<DateTime> date = date_of_serial(cell.number, date_1904);
  // A format that shows only days shows 0 as 1900-01-00.
  if (!date || (number_class == NumberClass::kDate && !date->has_date()))
    return set_fault(cell, "the number is no date: outside the calendar of the workbook");
  cell.date = *date;
  cell.kind = kind_of(*date);
  if (number_class == NumberClass::kDateTime && date->has_date()) cell.kind = CellKind::kDateTime;
  if (number_class == NumberClass::kTime && date_1904 && cell.number < 1) {
    cell.kind = CellKind::kTime;
    cell.date.year = 0;
    cell.date.month = cell.date.day = 0;
  }
}

}  // namespace

CellType cell_type(std::string_view t) {
  // The most frequent one first.
  if (t == "s") return CellType::kSharedString;
  if (t == "n") return CellType::kNumber;
  if (t == "str") return CellType::kFormulaString;
  if (t == "inlineStr") return CellType::kInlineString;
  if (t == "b") return CellType::kBoolean;
  if (t == "e") return CellType::kError;
  if (t == "d") return CellType::kIsoDate;
  return CellType::kUnknown;
}

std::optional<double> parse_double(std::string_view text) {
  const bool signed_text = text.starts_with('+') || text.starts_with('-');
  const std::string_view digits = text.substr(signed_text ? 1 : 0);
  if (text.starts_with('+')) text = digits;
  // Not "inf", "nan", "+-1".
  if (digits.empty() || (digits.front() != '.' && (digits.front() < '0' || digits.front() > '9')))
    return std::nullopt;
  double number = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [at, error] = std::from_chars(begin, end, number);
  if (at != end) return std::nullopt;
  if (error == std::errc()) return number;
  // Out of range: too small is zero, too large is nothing.
  const bool tiny = digits.find("e-") != std::string_view::npos ||
                    digits.find("E-") != std::string_view::npos || digits.starts_with("0.") ||
                    digits.starts_with('.');
  return tiny ? std::optional(text.starts_with('-') ? -0.0 : 0.0) : std::nullopt;
}

void set_fault(Cell& cell, std::string_view why) {
  cell.kind = CellKind::kFault;
  cell.text = why;
}

void set_number(Cell& cell, std::string_view value, NumberClass number_class, bool date_1904) {
  const std::optional<double> number = parse_double(value);
  if (!number) return set_fault(cell, "its value is not a number");
  cell.kind = CellKind::kNumber;
  cell.number = *number;
  cell.text = value;
  if (number_class == NumberClass::kNumber) return;
  if (number_class != NumberClass::kDuration) return set_date(cell, number_class, date_1904);
  if (std::abs(cell.number) > kMaxDurationDays)
    return set_fault(cell, "the number is no span of time: over 1,000,000,000 days");
  cell.kind = CellKind::kDuration;
}

void set_boolean(Cell& cell, std::string_view value) {
  cell.kind = CellKind::kBoolean;
  cell.truth = value == "1" || value == "true";
  if (!cell.truth && value != "0" && value != "false")
    set_fault(cell, "its value is neither true nor false");
}

void set_iso_date(Cell& cell, std::string_view value) {
  const bool time_only = value.size() > 2 && (value[2] == ':' || value.front() == 'T');
  const std::string full =
      time_only ? "2000-01-01T" + std::string(value.front() == 'T' ? value.substr(1) : value)
                : std::string(value);
  const std::optional<Serial> serial = parse_serial(full, {});
  if (!serial)
    return set_fault(cell, "its value is no ISO 8601 date from 1900-03-01 to 9999-12-31");
  cell.number = static_cast<double>(serial->day) +
                static_cast<double>(serial->second) / static_cast<double>(kSecondsPerDay);
  cell.date = date_of_serial(cell.number, false).value_or(DateTime());
  cell.kind = value.size() > 10 ? CellKind::kDateTime : CellKind::kDate;
  if (!time_only) return;
  cell.kind = CellKind::kTime;
  cell.date.year = 0;
  cell.date.month = cell.date.day = 0;
  cell.number -= static_cast<double>(serial->day);
}

void set_error(Cell& cell, std::string_view value) {
  cell.kind = CellKind::kError;
  cell.text = value;
}

}  // namespace waybill::xlsx
