// Rows of the open sheet: JSON values in, <row> elements out. All rules of what a value becomes are
// here; see docs/formats_xlsx.md for them in words.

#ifndef WAYBILL_XLSX_ROW_WRITER_H_
#define WAYBILL_XLSX_ROW_WRITER_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xlsx/cell_date.h"
#include "xlsx/cell_text.h"
#include "xlsx/json_rows.h"
#include "xlsx/parts.h"
#include "xlsx/shared_strings.h"
#include "xlsx/writer.h"
#include "xlsx/xml_buffer.h"

namespace waybill::xlsx {

// Not thread-safe. The references must outlive it.
class RowWriter {
 public:
  RowWriter(const std::vector<Column>& columns, const WriterOptions& options, XmlBuffer& out,
            SharedStrings& strings, WriterReport& counters);

  // Row 1. Counts what it had to change only if `count` (the header repeats on every sheet).
  void put_header(bool count);
  // Row `number` (from 2). kUnavailable for a value that is not JSON; the buffer's own error.
  base::Status put_row(std::int64_t number, std::span<const JsonValue> values);
  // The same from typed values; columns behind the last one stay empty.
  base::Status put_cells(std::int64_t number, std::span<const CellValue> cells);

 private:
  // Constant text, copied in blocks of fixed size: cheaper than a call with a length.
  template <std::size_t kCapacity>
  struct Piece {
    std::array<char, kCapacity> bytes{};
    std::uint8_t size = 0;
    void set(std::string_view text);
    char* put(char* p) const {
      std::memcpy(p, bytes.data(), kCapacity);
      return p + size;
    }
  };
  // What stands between a cell's reference and its content, one per style.
  struct CellForms {
    Piece<32> number, boolean, shared, inline_text;
    Piece<64> inline_preserve;
    Piece<32> blank;
  };
  struct Plan {
    Piece<16> head;  // `<c r="AB`
    std::size_t column = 0;
    ColumnType type = ColumnType::kString;
    bool shares = true;  // still worth looking its texts up
    std::uint32_t lookups = 0;
    std::uint32_t hits = 0;
  };

  // A piece of one cell without its text: head, number, form, end.
  static constexpr std::size_t kCellFrame = 256;

  static constexpr std::string_view kEndValue = "</v></c>";
  static constexpr std::string_view kEndInline = "</t></is></c>";

  void begin_row(std::int64_t number);
  base::Status end_row();
  // A cell with a number of at most kTextPadding characters: where they go, and what follows them.
  char* begin_number(const Plan& plan, Style style = Style::kGeneral);
  void end_number(const Plan& plan, const char* begin, char* end);
  char* open_cell(char* p, const Plan& plan) const { return row_.put(plan.head.put(p)); }

  bool put_cell(Plan& plan, const JsonValue& value);
  bool put_string(Plan& plan, const JsonValue& value);
  bool put_typed_string(Plan& plan, const JsonValue& value);
  bool put_number_token(Plan& plan, const JsonValue& value);
  bool put_nested(Plan& plan, const JsonValue& value);
  bool put_typed_text(Plan& plan, PaddedText text, bool from_number);
  void put_boolean(Plan& plan, bool truth);
  bool put_date(const Plan& plan, std::string_view text);
  void put_serial_cell(const Plan& plan, Serial serial);
  bool put_number(Plan& plan, PaddedText token, bool from_number);
  void put_invalid(Plan& plan, PaddedText text);
  void put_blank(const Plan& plan);
  void put_styled_blank(const Plan& plan, Style style);

  // Typed values, in row_cells.cc.
  void put_typed(Plan& plan, bool truth) { put_boolean(plan, truth); }
  void put_typed(Plan& plan, std::int64_t number);
  void put_typed(Plan& plan, double number);
  void put_typed(Plan& plan, std::string_view text);
  void put_typed(Plan& plan, LocalTime time);
  void put_typed(Plan& plan, std::monostate) { put_blank(plan); }

  // Text of any content and length (UTF-8): cut, guarded, escaped.
  void put_text(Plan& plan, PaddedText text, bool header = false, bool count = true);
  void put_digits(Plan& plan, std::string_view digits);
  // The three below: the inside of a JSON string, not empty.
  static Style raw_style(std::string_view raw);
  bool put_raw_shared(Plan& plan, PaddedText raw);
  bool put_raw_inline(const Plan& plan, PaddedText raw);
  bool put_if_shared(Plan& plan, std::string_view text, Style style);
  void put_inline(const Plan& plan, PaddedText text, Style style, bool apostrophe);
  Style style_of(std::string_view text) const;

  const std::vector<Column>& columns_;
  const bool refs_;
  const bool apostrophe_;
  const std::function<std::int64_t(std::int64_t)>& zone_;
  XmlBuffer& out_;
  SharedStrings& strings_;
  WriterReport& counters_;
  std::vector<Plan> plans_;
  std::array<CellForms, kStyles> forms_;
  Piece<16> row_;  // the row's number, as every reference repeats it
  TextScratch decoded_;
  TextScratch copied_;
  std::string compact_;
  std::string number_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_ROW_WRITER_H_
