#include "xlsx/row_writer.h"

#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "xlsx/cell_date.h"
#include "xlsx/cell_number.h"
#include "xlsx/json_text.h"

namespace waybill::xlsx {
namespace {

// No text longer than this can fit a cell: no UTF-16 unit takes more than three bytes, CRLF counts
// as one unit.
constexpr std::size_t kMaxCellBytes = 3 * kMaxCellUnits + 4;
// A column whose texts seldom repeat stops asking the table: deflate finds near repetitions anyway,
// and a look-up in a large table costs more than the cell. Looked at after every so many texts.
constexpr std::uint32_t kShareWindow = 4'096;
constexpr std::uint32_t kShareMinHits = kShareWindow / 4 * 3;
// A column without a single repetition among so many is given up earlier.
constexpr std::uint32_t kShareFirstLook = kShareWindow / 2;

char* put(char* p, std::string_view text) {
  std::memcpy(p, text.data(), text.size());
  return p + text.size();
}

Style header_twin(Style style) {
  switch (style) {
    case Style::kWrapped:
      return Style::kHeaderWrapped;
    case Style::kQuoted:
      return Style::kHeaderQuoted;
    case Style::kQuotedWrapped:
      return Style::kHeaderQuotedWrapped;
    default:
      return Style::kHeader;
  }
}

std::size_t index(Style style) { return static_cast<std::size_t>(style); }

}  // namespace

template <std::size_t kCapacity>
void RowWriter::Piece<kCapacity>::set(std::string_view text) {
  WAYBILL_CHECK(text.size() <= kCapacity, "a piece of markup is too long");
  std::memcpy(bytes.data(), text.data(), text.size());
  size = static_cast<std::uint8_t>(text.size());
}

RowWriter::RowWriter(const std::vector<Column>& columns, const WriterOptions& options,
                     XmlBuffer& out, SharedStrings& strings, WriterReport& counters)
    : columns_(columns),
      refs_(options.cell_refs),
      apostrophe_(options.formula_guard == FormulaGuard::kApostrophe),
      zone_(options.zone_offset_seconds),
      out_(out),
      strings_(strings),
      counters_(counters),
      plans_(columns.size()) {
  static_assert(kRawGrowth * kMaxRawBytes + kTextPadding + kCellFrame <= XmlBuffer::kMaxReserve);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    plans_[i].head.set(refs_ ? "<c r=\"" + column_letters(i) : "<c");
    plans_[i].column = i;
    plans_[i].type = columns[i].type;
    plans_[i].shares = options.shared_string_budget_bytes > 0;
  }
  for (std::size_t i = 0; i < kStyles; ++i) {
    std::string start = refs_ ? "\"" : "";
    if (i != 0) start += " s=\"" + std::to_string(i) + "\"";
    forms_[i].number.set(start + "><v>");
    forms_[i].boolean.set(start + " t=\"b\"><v>");
    forms_[i].shared.set(start + " t=\"s\"><v>");
    forms_[i].inline_text.set(start + " t=\"inlineStr\"><is><t>");
    forms_[i].inline_preserve.set(start + " t=\"inlineStr\"><is><t xml:space=\"preserve\">");
    forms_[i].blank.set(start + "/>");
  }
}

void RowWriter::begin_row(std::int64_t number) {
  char* p = put(out_.reserve(kCellFrame), "<row r=\"");
  char* const end = std::to_chars(p, p + 16, number).ptr;
  out_.mark(p, end, columns_.size());
  row_.set({p, static_cast<std::size_t>(end - p)});
  out_.advance(put(end, "\">"));
  if (!refs_) row_.size = 0;
}

void RowWriter::put_header(bool count) {
  begin_row(1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::string title;
    append_repaired(title, columns_[i].title);
    if (title.empty()) {
      put_styled_blank(plans_[i], Style::kHeader);
    } else {
      put_text(plans_[i], copied_.assign(title), true, count);
    }
  }
  out_.put("</row>");
}

base::Status RowWriter::put_row(std::int64_t number, std::span<const JsonValue> values) {
  begin_row(number);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (!put_cell(plans_[i], values[i])) {
      return base::unavailable("the page of rows is truncated or unparsable: the value of column " +
                               base::printable(columns_[i].key, 100) + " is not JSON");
    }
  }
  return end_row();
}

char* RowWriter::begin_number(const Plan& plan, Style style) {
  char* p = open_cell(out_.reserve(kCellFrame), plan);
  return forms_[static_cast<std::size_t>(style)].number.put(p);
}

void RowWriter::end_number(const Plan& plan, const char* begin, char* end) {
  out_.mark(begin, end, plan.column);
  out_.advance(put(end, kEndValue));
}

base::Status RowWriter::end_row() {
  char* p = out_.reserve(kCellFrame);
  out_.advance(put(p, "</row>"));
  return out_.status();
}

// A cell without a value is not written at all where the others say which column they are in.
void RowWriter::put_blank(const Plan& plan) {
  if (!refs_) put_styled_blank(plan, Style::kGeneral);
}

void RowWriter::put_styled_blank(const Plan& plan, Style style) {
  char* p = open_cell(out_.reserve(kCellFrame), plan);
  out_.advance(forms_[index(style)].blank.put(p));
}

// False for a value that is not JSON.
bool RowWriter::put_cell(Plan& plan, const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kAbsent:
      put_blank(plan);
      return true;
    case JsonKind::kString:
      return plan.type == ColumnType::kString ? put_string(plan, value)
                                              : put_typed_string(plan, value);
    case JsonKind::kNumber:
      return put_number_token(plan, value);
    case JsonKind::kTrue:
    case JsonKind::kFalse:
      if (plan.type == ColumnType::kBoolean) {
        put_boolean(plan, value.kind == JsonKind::kTrue);
      } else if (plan.type == ColumnType::kString) {
        put_text(plan, value.text());
      } else {
        put_invalid(plan, value.text());
      }
      return true;
    case JsonKind::kNested:
      return put_nested(plan, value);
  }
  return true;
}

bool RowWriter::put_string(Plan& plan, const JsonValue& value) {
  if (value.size == 0) {
    put_blank(plan);
    return true;
  }
  if (plan.shares && value.size <= SharedStrings::kMaxTextBytes) {
    if (!has_backslash(value.text()) && put_raw_shared(plan, value.text())) return true;
  }
  if (value.size <= kMaxRawBytes && put_raw_inline(plan, value.text())) return true;
  if (!has_backslash(value.text())) {
    put_text(plan, value.text());
    return true;
  }
  const DecodedString decoded = decode_json_string(value.view(), kMaxCellBytes, decoded_);
  if (!decoded.valid) return false;
  counters_.text_repaired += decoded.replaced;
  put_text(plan, decoded.text);
  return true;
}

bool RowWriter::put_typed_string(Plan& plan, const JsonValue& value) {
  if (value.size == 0) {
    put_blank(plan);
    return true;
  }
  if (!has_backslash(value.text())) return put_typed_text(plan, value.text(), false);
  const DecodedString decoded = decode_json_string(value.view(), kMaxCellBytes, decoded_);
  if (!decoded.valid) return false;
  counters_.text_repaired += decoded.replaced;
  return put_typed_text(plan, decoded.text, false);
}

bool RowWriter::put_number_token(Plan& plan, const JsonValue& value) {
  if (plan.type == ColumnType::kInteger || plan.type == ColumnType::kDecimal) {
    return put_number(plan, value.text(), true);
  }
  if (!scan_number(value.view()).valid) return false;
  if (plan.type == ColumnType::kString) {
    put_text(plan, value.text());
  } else {
    put_invalid(plan, value.text());
  }
  return true;
}

bool RowWriter::put_nested(Plan& plan, const JsonValue& value) {
  compact_.clear();
  if (!append_compact_json(value.view(), kMaxCellBytes, compact_)) return false;
  if (plan.type != ColumnType::kString) ++counters_.invalid_as_text;
  put_text(plan, copied_.assign(compact_));
  return true;
}

// A string in a column that is not STRING.
bool RowWriter::put_typed_text(Plan& plan, PaddedText text, bool from_number) {
  switch (plan.type) {
    case ColumnType::kInteger:
    case ColumnType::kDecimal:
      return put_number(plan, text, from_number);
    case ColumnType::kBoolean:
      if (text.view() == "true" || text.view() == "false") {
        put_boolean(plan, text.view() == "true");
      } else {
        put_invalid(plan, text);
      }
      return true;
    case ColumnType::kDate:
    case ColumnType::kDateTime:
      if (!put_date(plan, text.view())) put_invalid(plan, text);
      return true;
    case ColumnType::kString:
      break;
  }
  put_text(plan, text);
  return true;
}

void RowWriter::put_boolean(Plan& plan, bool truth) {
  char* p = open_cell(out_.reserve(kCellFrame), plan);
  p = forms_[index(Style::kGeneral)].boolean.put(p);
  *p++ = truth ? '1' : '0';
  out_.mark(p - 1, p, plan.column);
  out_.advance(put(p, kEndValue));
}

bool RowWriter::put_date(const Plan& plan, std::string_view text) {
  const std::optional<Serial> serial = parse_serial(text, zone_);
  if (!serial) return false;
  put_serial_cell(plan, *serial);
  return true;
}

void RowWriter::put_serial_cell(const Plan& plan, Serial serial) {
  const bool with_time = plan.type != ColumnType::kDate;
  char* const begin = begin_number(plan, with_time ? Style::kDateTime : Style::kDate);
  end_number(plan, begin, put_serial(begin, serial, with_time));
}

// False only for an unquoted token that is not a JSON number.
bool RowWriter::put_number(Plan& plan, PaddedText token, bool from_number) {
  const bool integer = plan.type == ColumnType::kInteger;
  const NumberCell cell = integer ? integer_cell(token.view(), number_)
                                  : decimal_cell(token.view(), from_number, number_);
  switch (cell.kind) {
    case NumberKind::kNumber: {
      // A fixed size is a few instructions, not a call.
      if (cell.text.data() == token.data && cell.text.size() <= kTextPadding) {
        char* const begin = begin_number(plan);
        std::memcpy(begin, token.data, kTextPadding);
        end_number(plan, begin, begin + cell.text.size());
      } else {
        out_.reserve(kCellFrame + cell.text.size());
        char* const begin = begin_number(plan);
        end_number(plan, begin, put(begin, cell.text));
      }
      return true;
    }
    case NumberKind::kTooLong:
      ++(integer ? counters_.integers_as_text : counters_.decimals_as_text);
      put_digits(plan, cell.text);
      return true;
    case NumberKind::kInvalid:
      if (from_number && !scan_number(token.view()).valid) return false;
      put_invalid(plan, token);
      return true;
  }
  return true;
}

void RowWriter::put_invalid(Plan& plan, PaddedText text) {
  ++counters_.invalid_as_text;
  put_text(plan, text);
}

// The digits of a number that is kept as text: a minus in front is no formula.
void RowWriter::put_digits(Plan& plan, std::string_view digits) {
  const std::size_t fits = bytes_of_units(digits, kMaxCellUnits);
  if (fits < digits.size()) ++counters_.cells_cut;
  digits = digits.substr(0, fits);
  if (put_if_shared(plan, digits, Style::kText)) return;
  put_inline(plan, copied_.assign(digits), Style::kText, false);
}

Style RowWriter::style_of(std::string_view text) const {
  const char first = text.empty() ? '\0' : text.front();
  if (first >= '0' && first <= '9' && only_digits(text)) return Style::kText;
  const bool quoted = !apostrophe_ && looks_like_formula(text);
  const bool wrapped = std::memchr(text.data(), '\n', text.size()) != nullptr ||
                       std::memchr(text.data(), '\r', text.size()) != nullptr;
  if (quoted) return wrapped ? Style::kQuotedWrapped : Style::kQuoted;
  return wrapped ? Style::kWrapped : Style::kGeneral;
}

void RowWriter::put_text(Plan& plan, PaddedText text, bool header, bool count) {
  if (text.size == 0) {
    put_blank(plan);
    return;
  }
  const bool formula = looks_like_formula(text.view());
  const bool apostrophe = formula && apostrophe_;
  if (text.size >= kMaxCellUnits) {
    const std::size_t fits = bytes_of_units(text.view(), kMaxCellUnits - (apostrophe ? 1 : 0));
    if (fits < text.size && count) ++counters_.cells_cut;
    text.size = fits;
  }
  if (formula && count) ++counters_.cells_guarded;
  Style style = style_of(text.view());
  if (header) style = header_twin(style);
  if (!apostrophe && put_if_shared(plan, text.view(), style)) return;
  put_inline(plan, text, style, apostrophe);
}

// Raw JSON text without a backslash holds no control character, so that its first character
// decides.
Style RowWriter::raw_style(std::string_view raw) {
  const char first = raw.front();
  if (first > '@' && first <= '~') return Style::kGeneral;
  if (first >= '0' && first <= '9') return only_digits(raw) ? Style::kText : Style::kGeneral;
  return looks_like_formula(raw) ? Style::kQuoted : Style::kGeneral;
}

bool RowWriter::put_raw_shared(Plan& plan, PaddedText raw) {
  const Style style = raw_style(raw.view());
  const bool formula = style == Style::kQuoted;
  if ((formula && apostrophe_) || !put_if_shared(plan, raw.view(), style)) return false;
  counters_.cells_guarded += formula ? 1 : 0;
  return true;
}

// One pass from the page to the sheet. False, with nothing written, at a backslash.
bool RowWriter::put_raw_inline(const Plan& plan, PaddedText raw) {
  Style style = raw_style(raw.view());
  const bool formula = style == Style::kQuoted;
  const bool apostrophe = formula && apostrophe_;
  if (apostrophe) style = Style::kGeneral;
  char* p = open_cell(out_.reserve(kRawGrowth * raw.size + kTextPadding + kCellFrame), plan);
  const bool preserve = raw.data[0] == ' ' || raw.data[raw.size - 1] == ' ';
  const CellForms& form = forms_[index(style)];
  p = preserve ? form.inline_preserve.put(p) : form.inline_text.put(p);
  if (apostrophe) *p++ = '\'';
  char* const end = escape_json(p, raw);
  if (end == nullptr) return false;
  counters_.cells_guarded += formula ? 1 : 0;
  out_.mark(p, end, plan.column, true);
  out_.advance(put(end, kEndInline));
  return true;
}

bool RowWriter::put_if_shared(Plan& plan, std::string_view text, Style style) {
  if (!plan.shares) return false;
  const std::optional<SharedStrings::Found> found = strings_.find_or_add(text);
  plan.hits += found && !found->fresh ? 1 : 0;
  ++plan.lookups;
  if (plan.lookups == kShareWindow || (plan.lookups == kShareFirstLook && plan.hits == 0)) {
    plan.shares = plan.hits >= kShareMinHits;
    plan.lookups = plan.hits = 0;
    if (!plan.shares) strings_.forget_singles();  // most of them were this column's
  }
  if (!found) return false;
  char* p = open_cell(out_.reserve(kCellFrame), plan);
  p = forms_[index(style)].shared.put(p);
  char* const end = std::to_chars(p, p + 16, found->index).ptr;
  out_.mark(p, end, plan.column);
  out_.advance(put(end, kEndValue));
  return true;
}

void RowWriter::put_inline(const Plan& plan, PaddedText text, Style style, bool apostrophe) {
  char* p = open_cell(out_.reserve(kCellFrame), plan);
  const CellForms& form = forms_[index(style)];
  p = needs_preserve(text.view()) ? form.inline_preserve.put(p) : form.inline_text.put(p);
  if (apostrophe) *p++ = '\'';
  out_.advance(p);
  const std::uint64_t flushes = out_.flushes();
  put_escaped(out_, text);
  char* const end = out_.at();
  if (out_.flushes() == flushes) out_.mark(p, end, plan.column, true);
  out_.put(kEndInline);
}

}  // namespace waybill::xlsx
