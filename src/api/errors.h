// The one table of the API's outcomes: word, number, HTTP status and text. docs/openapi.yaml lists
// the same words (a test compares the two). Words and numbers are stable: clients compare them.

#ifndef WAYBILL_API_ERRORS_H_
#define WAYBILL_API_ERRORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace waybill::api {

enum class Language : std::uint8_t { kEnglish, kChinese };

struct ErrorInfo {
  std::string_view word;
  int number;
  int http_status;
  bool always;  // the HTTP status is real in every mode, not only in rest mode and on file routes
  // {message}, {field}, {limit}, {unit}, {actual} are filled in. A text without {message} hides the
  // error's own sentence, which may speak of databases and files.
  std::string_view zh;
  std::string_view en;
};

std::span<const ErrorInfo> error_table();
// The row of a word; the row INTERNAL for a word that is not there.
const ErrorInfo& error_info(std::string_view word);
// The row of an error: its own code where the table knows it, else its category's.
const ErrorInfo& error_info(const base::Error& error);
// The text for a person.
std::string error_text(const ErrorInfo& info, const base::Error& error, Language language);

}  // namespace waybill::api

#endif  // WAYBILL_API_ERRORS_H_
