// Arbitrary bytes as wanted sheet names, separated by zero bytes: what is handed out is legal for
// Excel and unique.

#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "xlsx/cell_text.h"
#include "xlsx/sheet_name.h"
#include "xlsx/writer.h"

namespace {

namespace xlsx = waybill::xlsx;

void check_legal(const std::string& name) {
  WAYBILL_CHECK(!name.empty() && waybill::base::is_utf8(name), "UTF-8, not empty");
  WAYBILL_CHECK(name.find_first_of("[]:*?/\\") == std::string::npos, "no forbidden character");
  WAYBILL_CHECK(name.front() != '\'' && name.back() != '\'', "no apostrophe at an end");
  WAYBILL_CHECK(xlsx::bytes_of_units(name, xlsx::kMaxSheetNameUnits) == name.size(),
                "not too long");
  for (const char c : name) WAYBILL_CHECK(static_cast<unsigned char>(c) >= ' ', "no control");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  xlsx::SheetNames names;
  std::set<std::string> seen;
  for (bool more = true; more;) {
    const std::size_t end = input.find('\0');
    more = end != std::string_view::npos;
    const std::string_view wanted = input.substr(0, end);
    check_legal(xlsx::legal_sheet_name(wanted));
    std::string name = names.next(wanted);
    check_legal(name);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    WAYBILL_CHECK(seen.insert(name).second, "no name twice");
    if (more) input.remove_prefix(end + 1);
  }
  return 0;
}
