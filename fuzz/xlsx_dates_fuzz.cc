// Arbitrary bytes as an ISO date, as a number format, as a serial number and as escaped text. A
// date that the writer accepts must come back from its serial as it was.

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "xlsx/cell_date.h"
#include "xlsx/cell_ref.h"
#include "xlsx/cell_value.h"
#include "xlsx/date_serial.h"
#include "xlsx/number_format.h"
#include "xlsx/xstring.h"

namespace {

namespace xlsx = waybill::xlsx;

void check_iso(std::string_view text) {
  const auto serial = xlsx::parse_serial(text, {});
  if (!serial) return;
  char digits[xlsx::kMaxSerialBytes];
  const char* end = xlsx::put_serial(digits, *serial, true);
  const auto number = xlsx::parse_double({digits, static_cast<std::size_t>(end - digits)});
  WAYBILL_CHECK(number.has_value(), "a serial is a number");
  const auto date = xlsx::date_of_serial(*number, false);
  WAYBILL_CHECK(date.has_value(), "and a date");
  const auto again = xlsx::parse_serial(xlsx::date_time_text(*date), {});
  WAYBILL_CHECK(again && again->day == serial->day && again->second == serial->second,
                "the same moment");
}

void check_serial(std::string_view bytes) {
  double serial = 0;
  if (bytes.size() < sizeof serial) return;
  std::memcpy(&serial, bytes.data(), sizeof serial);
  for (const bool date_1904 : {false, true}) {
    const auto date = xlsx::date_of_serial(serial, date_1904);
    if (!date) continue;
    WAYBILL_CHECK(
        date->hour < 24 && date->minute < 60 && date->second < 60 && date->millisecond < 1'000,
        "a time of day");
    WAYBILL_CHECK(!date->has_date() || (date->year >= 1900 && date->year <= 9999 &&
                                        date->month >= 1 && date->month <= 12 && date->day >= 1),
                  "a day");
  }
  if (serial >= -xlsx::kMaxDurationDays && serial <= xlsx::kMaxDurationDays)
    WAYBILL_CHECK(xlsx::duration_text(serial).find("PT") != std::string::npos, "a duration");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_iso(input);
  check_serial(input);
  static_cast<void>(xlsx::classify_format(input));
  if (const auto ref = xlsx::parse_cell_ref(input))
    WAYBILL_CHECK(xlsx::parse_cell_ref(xlsx::cell_name(ref->column, ref->row)).has_value(), "ref");
  std::string text = waybill::base::to_utf8(input);
  const std::size_t before = text.size();
  xlsx::decode_xstring(text);
  WAYBILL_CHECK(text.size() <= before && waybill::base::is_utf8(text), "never longer, still UTF-8");
  return 0;
}
