#include "xlsx/sheet_rows.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "xlsx/cell_ref.h"
#include "xlsx/cell_value.h"
#include "xlsx/rich_text.h"
#include "xlsx/row_texts.h"
#include "xlsx/writer.h"
#include "xlsx/xml_parser.h"
#include "xlsx/xstring.h"

namespace waybill::xlsx {
namespace {

// worksheet > sheetData > row > c > (f | v | is > ...); everything else is skipped.
class Sheet final : public SheetRows, private XmlEvents {
 public:
  explicit Sheet(const SheetSource& source)
      : source_(source),
        reader_(source.zip, source.part, source.budget),
        parser_(reader_, *this),
        texts_(kMaxRowTextBytes) {}

  base::Result<const Row*> next() override {
    WAYBILL_ASSIGN(const bool paused, parser_.advance());
    return paused ? &row_ : nullptr;
  }

 private:
  enum class Place : std::uint8_t { kTop, kSheet, kData, kRow, kCell, kValue, kInline };

  base::Status start(std::string_view name, const XmlAttributes& attributes) override;
  base::Status end() override;
  base::Status text(std::string_view piece) override;

  base::Status enter(bool known, Place place);
  base::Status start_row(const XmlAttributes& attributes);
  base::Status start_cell(const XmlAttributes& attributes);
  base::Status end_cell();
  base::Status end_row();
  base::Status set_text(Cell& cell, std::string_view text);
  base::Status set_shared(Cell& cell, std::string_view value);
  base::Status set_string(Cell& cell);
  [[nodiscard]] base::Error at_cell(std::string_view why) const;
  [[nodiscard]] base::Error broken(std::string_view why) const {
    return damaged_part(source_.part.name, why);
  }

  const SheetSource source_;
  PartReader reader_;
  XmlParser parser_;

  Place place_ = Place::kTop;
  int skipped_ = 0;  // open elements of what is skipped
  bool data_seen_ = false;

  Row row_;
  std::int64_t last_row_ = 0;
  std::vector<Cell> cells_;
  bool in_order_ = true;
  RowTexts texts_;

  // The open cell.
  std::size_t column_ = 0;
  std::size_t next_column_ = 0;
  CellType type_ = CellType::kNumber;
  NumberClass class_ = NumberClass::kNumber;
  bool has_value_ = false;
  bool has_inline_ = false;
  std::string value_;
  RichText rich_;
};

base::Status Sheet::enter(bool known, Place place) {
  if (known) {
    place_ = place;
  } else {
    skipped_ = 1;
  }
  return {};
}

base::Status Sheet::start(std::string_view name, const XmlAttributes& attributes) {
  if (skipped_ > 0) {
    ++skipped_;
    return {};
  }
  switch (place_) {
    case Place::kTop:
      if (name != "worksheet") return broken("it is no worksheet");
      return enter(true, Place::kSheet);
    case Place::kSheet: {
      const bool data = name == "sheetData";
      if (data && std::exchange(data_seen_, true)) return broken("it has two sets of rows");
      return enter(data, Place::kData);
    }
    case Place::kData:
      if (name == "row") WAYBILL_TRY(start_row(attributes));
      return enter(name == "row", Place::kRow);
    case Place::kRow:
      if (name == "c") WAYBILL_TRY(start_cell(attributes));
      return enter(name == "c", Place::kCell);
    case Place::kCell:
      if (name == "v") {
        has_value_ = true;
        value_.clear();
        return enter(true, Place::kValue);
      }
      if (name == "is") {
        has_inline_ = true;
        rich_.begin();
      }
      return enter(name == "is", Place::kInline);
    case Place::kValue:
      return enter(false, Place::kValue);
    case Place::kInline:
      rich_.start(name);
      return {};
  }
  return {};
}

base::Status Sheet::end() {
  if (skipped_ > 0) {
    --skipped_;
    return {};
  }
  switch (place_) {
    case Place::kInline:
      if (rich_.at_top()) {
        place_ = Place::kCell;
      } else {
        rich_.end();
      }
      return {};
    case Place::kValue:
      place_ = Place::kCell;
      return {};
    case Place::kCell:
      place_ = Place::kRow;
      return end_cell();
    case Place::kRow:
      place_ = Place::kData;
      return end_row();
    case Place::kData:
      place_ = Place::kSheet;
      return {};
    case Place::kSheet:
    case Place::kTop:
      place_ = Place::kTop;
      return {};
  }
  return {};
}

base::Status Sheet::text(std::string_view piece) {
  if (skipped_ > 0) return {};
  if (place_ == Place::kInline) return rich_.text(piece);
  if (place_ != Place::kValue) return {};
  if (piece.size() > kMaxTextBytes - value_.size()) return text_too_long();
  value_ += piece;
  return {};
}

base::Status Sheet::start_row(const XmlAttributes& attributes) {
  const char* r = attributes.find("r");
  const std::optional<std::int64_t> number =
      r == nullptr ? std::optional(last_row_ + 1) : parse_row_number(r);
  if (!number || *number > kMaxRowsPerSheet) {
    return broken("row " + (r == nullptr ? std::to_string(last_row_ + 1) : base::printable(r, 20)) +
                  " is outside the sheet");
  }
  if (*number <= last_row_) {
    return broken("row " + std::to_string(*number) + " comes after row " +
                  std::to_string(last_row_));
  }
  last_row_ = *number;
  next_column_ = 0;
  in_order_ = true;
  cells_.clear();
  texts_.clear();
  return {};
}

base::Status Sheet::start_cell(const XmlAttributes& attributes) {
  const char* r = nullptr;
  type_ = CellType::kNumber;
  class_ = source_.formats.at(0);
  has_value_ = false;
  has_inline_ = false;
  for (const char** at = attributes.raw(); *at != nullptr; at += 2) {
    if (at[0][0] == '\0' || at[0][1] != '\0') continue;
    switch (at[0][0]) {
      case 'r':
        r = at[1];
        break;
      case 't':
        type_ = cell_type(at[1]);
        break;
      case 's': {
        const std::optional<std::int64_t> style = base::parse_int(at[1]);
        class_ = style && *style >= 0 ? source_.formats.at(static_cast<std::size_t>(*style))
                                      : NumberClass::kNumber;
        break;
      }
      default:
        break;
    }
  }
  column_ = next_column_;
  if (r != nullptr) {
    const std::optional<CellRef> ref = parse_cell_ref(r);
    if (!ref || ref->row != last_row_) {
      return broken("cell " + base::printable(r, 20) + " in row " + std::to_string(last_row_) +
                    (ref ? " belongs to another row" : " is outside the sheet"));
    }
    column_ = ref->column;
  }
  if (column_ >= kMaxColumns)
    return broken("row " + std::to_string(last_row_) + " has cells outside the sheet");
  next_column_ = column_ + 1;
  return {};
}

base::Error Sheet::at_cell(std::string_view why) const {
  return broken("cell " + cell_name(column_, last_row_) + ": " + std::string(why));
}

base::Status Sheet::set_text(Cell& cell, std::string_view text) {
  const std::optional<std::string_view> kept = texts_.add(text);
  if (!kept) {
    return base::over_limit("row_bytes", kMaxRowTextBytes, "bytes", kMaxRowTextBytes + 1,
                            "row " + std::to_string(last_row_) + " has more than " +
                                std::to_string(kMaxRowTextBytes) + " bytes of text");
  }
  cell.text = *kept;
  return {};
}

base::Status Sheet::set_shared(Cell& cell, std::string_view value) {
  const std::optional<std::int64_t> index = base::parse_int(value);
  if (!index || *index < 0 || static_cast<std::uint64_t>(*index) >= source_.strings.size()) {
    set_fault(cell, "it refers to a shared string that does not exist");
    return {};
  }
  WAYBILL_ASSIGN(const std::string_view text,
                 source_.strings.text(static_cast<std::uint64_t>(*index)));
  return set_text(cell, text);
}

base::Status Sheet::set_string(Cell& cell) {
  if (has_inline_ && type_ == CellType::kInlineString) return set_text(cell, rich_.value());
  decode_xstring(value_);
  return set_text(cell, value_);
}

base::Status Sheet::end_cell() {
  const bool is_string = type_ == CellType::kInlineString || type_ == CellType::kFormulaString;
  const bool has_text = has_value_ || (has_inline_ && type_ == CellType::kInlineString);
  const std::string_view value = has_value_ ? base::trim(value_) : std::string_view();
  if (is_string ? !has_text : value.empty()) return {};
  if (cells_.size() == kMaxColumns) return at_cell("it occurs twice");
  Cell cell;
  cell.column = static_cast<std::uint32_t>(column_);
  switch (type_) {
    case CellType::kSharedString:
      WAYBILL_TRY(set_shared(cell, value));
      break;
    case CellType::kFormulaString:
    case CellType::kInlineString:
      WAYBILL_TRY(set_string(cell));
      break;
    case CellType::kNumber:
      set_number(cell, value, class_, source_.date_1904);
      break;
    case CellType::kBoolean:
      set_boolean(cell, value);
      break;
    case CellType::kIsoDate:
      set_iso_date(cell, value);
      break;
    case CellType::kError:
      set_error(cell, value);
      break;
    case CellType::kUnknown:
      set_fault(cell, "its type is unknown");
      break;
  }
  if (cell.kind == CellKind::kNumber || cell.kind == CellKind::kError)
    WAYBILL_TRY(set_text(cell, cell.text));
  in_order_ = in_order_ && (cells_.empty() || cells_.back().column < cell.column);
  cells_.push_back(cell);
  return {};
}

base::Status Sheet::end_row() {
  if (cells_.empty()) return {};
  if (!in_order_) {
    std::sort(cells_.begin(), cells_.end(),
              [](const Cell& a, const Cell& b) { return a.column < b.column; });
    for (std::size_t i = 1; i < cells_.size(); ++i) {
      column_ = cells_[i].column;
      if (column_ == cells_[i - 1].column) return at_cell("it occurs twice");
    }
  }
  row_ = {last_row_, cells_};
  parser_.pause();
  return {};
}

}  // namespace

std::unique_ptr<SheetRows> make_sheet_rows(const SheetSource& source) {
  return std::make_unique<Sheet>(source);
}

}  // namespace waybill::xlsx
