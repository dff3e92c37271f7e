// Text on its way into a part: what must be escaped, how much fits, what a spreadsheet would take
// for a formula.

#ifndef WAYBILL_XLSX_CELL_TEXT_H_
#define WAYBILL_XLSX_CELL_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waybill::xlsx {

class XmlBuffer;

// The escapers look at whole machine words: so many bytes behind the end of a text must be
// readable.
inline constexpr std::size_t kTextPadding = 32;

// UTF-8 text with readable padding behind it. A view.
struct PaddedText {
  const char* data = nullptr;
  std::size_t size = 0;
  [[nodiscard]] std::string_view view() const { return {data, size}; }
};

// Owns padded text; reused, so that it stops allocating once it has seen the longest text.
class TextScratch {
 public:
  // A copy of `text`.
  PaddedText assign(std::string_view text);
  // Room for `bytes` bytes; finish with end().
  char* room(std::size_t bytes);
  [[nodiscard]] PaddedText end(const char* end) const {
    return {bytes_.data(), static_cast<std::size_t>(end - bytes_.data())};
  }

 private:
  std::string bytes_;
};

// Content of an element: & < > as entities; CRLF and CR as LF; characters that XML 1.0 forbids as
// _xHHHH_; an underscore that would be read back as the start of such an escape as _x005F_
// (ECMA-376 ST_Xstring).
void put_escaped(XmlBuffer& out, PaddedText text);

// The same for the inside of a JSON string as it stands in the page: writes to `p` and returns the
// end, or nullptr at the first backslash (decode first; what was written is void). REQUIRES:
// text.size <= kMaxRawBytes and room for kRawGrowth * text.size + kTextPadding bytes at `p`.
inline constexpr std::size_t kMaxRawBytes = 4'096;
inline constexpr std::size_t kRawGrowth = 7;
char* escape_json(char* p, PaddedText text);

// Whether a backslash occurs.
bool has_backslash(PaddedText text);

// For attributes and small parts. `text` may be ill-formed UTF-8 (repaired); control characters are
// dropped.
std::string xml_attribute(std::string_view text);

// How many bytes of `text` (UTF-8) make at most `units` UTF-16 units once CRLF counts as one; never
// half of a character. Looks at no more than 3 * units + 4 bytes.
std::size_t bytes_of_units(std::string_view text, std::size_t units);

// Starts or ends with white space, which XML readers may drop unless told to keep it.
bool needs_preserve(std::string_view text);

// Starts with = + - @ Tab CR LF or ＝ ＋ － ＠.
bool looks_like_formula(std::string_view text);

// Only ASCII digits, at least one.
bool only_digits(std::string_view text);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_CELL_TEXT_H_
