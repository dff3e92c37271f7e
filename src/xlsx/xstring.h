// Text as parts store it (ECMA-376 22.9.2.19, ST_Xstring) back to the text that was meant.

#ifndef WAYBILL_XLSX_XSTRING_H_
#define WAYBILL_XLSX_XSTRING_H_

#include <string>

namespace waybill::xlsx {

// In place, from byte `from` on: _xHHHH_ becomes the UTF-16 unit that it names (two halves of a
// pair become one character, a lone half U+FFFD), then CRLF and CR become LF. Never gets longer.
void decode_xstring(std::string& text, std::size_t from = 0);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_XSTRING_H_
