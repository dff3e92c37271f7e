#include "xlsx/reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "xlsx/cell_formats.h"
#include "xlsx/file_kind.h"
#include "xlsx/shared_string_index.h"
#include "xlsx/sheet_rows.h"
#include "xlsx/workbook_index.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {
namespace {

// For errors that do not speak of the whole file yet.
base::Error damaged(const base::Error& error) {
  const bool plain = error.category == base::ErrorCategory::kInvalid && error.code.empty();
  return plain ? error.with_context("the workbook is damaged") : error;
}

class OpenReader final : public Reader {
 public:
  OpenReader(ZipReader zip, ReaderOptions options)
      : zip_(std::move(zip)),
        options_(std::move(options)),
        budget_{options_.max_part_bytes, options_.max_total_bytes} {}

  base::Status start() {
    WAYBILL_ASSIGN(index_, read_workbook_index(zip_, budget_));
    for (const WorkbookIndex::Sheet& sheet : index_.sheets) {
      sheets_.push_back({sheet.name, sheet.visibility == WorkbookIndex::Visibility::kVisible});
    }
    return {};
  }

  const std::vector<SheetInfo>& sheets() const override { return sheets_; }

  std::size_t default_sheet() const override {
    const auto visible = std::find_if(sheets_.begin(), sheets_.end(),
                                      [](const SheetInfo& sheet) { return sheet.visible; });
    return visible == sheets_.end() ? 0 : static_cast<std::size_t>(visible - sheets_.begin());
  }

  base::Result<std::unique_ptr<SheetRows>> open_sheet(std::size_t index) override {
    WAYBILL_CHECK(index < sheets_.size(), "no such sheet");
    const ZipPart* part = index_.sheets[index].part;
    if (part == nullptr) {
      return base::invalid("file", "the sheet " + base::printable(sheets_[index].name, 40) +
                                       " is missing from the workbook");
    }
    if (strings_ == nullptr) WAYBILL_TRY(load());
    return make_sheet_rows(
        SheetSource{zip_, *part, budget_, *strings_, formats_, index_.date_1904});
  }

 private:
  base::Status load() {
    if (index_.styles != nullptr) {
      WAYBILL_ASSIGN(formats_, CellFormats::read(zip_, *index_.styles, budget_));
    }
    auto strings =
        std::make_unique<SharedStringIndex>(options_.max_temp_bytes, options_.temp_folder);
    if (index_.shared_strings != nullptr)
      WAYBILL_TRY(strings->load(zip_, *index_.shared_strings, budget_));
    strings_ = std::move(strings);
    return {};
  }

  ZipReader zip_;
  const ReaderOptions options_;
  InflateBudget budget_;
  WorkbookIndex index_;
  std::vector<SheetInfo> sheets_;
  CellFormats formats_;
  std::unique_ptr<SharedStringIndex> strings_;
};

// RFC 8259 section 6.
bool is_json_number(std::string_view text) {
  const auto digits = [&text] {
    std::size_t count = 0;
    while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
    text.remove_prefix(count);
    return count;
  };
  const auto take = [&text](char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  };
  take('-');
  if (!take('0') && digits() == 0) return false;
  if (take('.') && digits() == 0) return false;
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    if (digits() == 0) return false;
  }
  return text.empty();
}

void append_number(std::string& out, const Cell& cell) {
  if (is_json_number(cell.text)) {
    out += cell.text;
    return;
  }
  base::JsonWriter number;
  number.value(cell.number);
  out += number.text();
}

}  // namespace

base::Result<std::unique_ptr<Reader>> Reader::open(std::uint64_t size, RandomRead read,
                                                   ReaderOptions options) {
  ByteSource source(size, std::move(read));
  if (const std::optional<base::Error> other = refuse_other_file(source)) return *other;
  auto zip = ZipReader::open(std::move(source));
  if (!zip.ok()) return damaged(zip.error());
  auto reader = std::make_unique<OpenReader>(std::move(*zip), std::move(options));
  if (const base::Status started = reader->start(); !started.ok()) return damaged(started.error());
  return std::unique_ptr<Reader>(std::move(reader));
}

const Cell* Row::find(std::uint32_t column) const {
  const auto found =
      std::lower_bound(cells.begin(), cells.end(), column,
                       [](const Cell& cell, std::uint32_t c) { return cell.column < c; });
  return found != cells.end() && found->column == column ? &*found : nullptr;
}

void append_json(std::string& out, const Cell& cell) {
  switch (cell.kind) {
    case CellKind::kText:
      return base::append_json_string(out, cell.text);
    case CellKind::kNumber:
      return append_number(out, cell);
    case CellKind::kBoolean:
      out += cell.truth ? "true" : "false";
      return;
    case CellKind::kDate:
      return base::append_json_string(out, date_text(cell.date));
    case CellKind::kTime:
      return base::append_json_string(out, time_text(cell.date));
    case CellKind::kDateTime:
      return base::append_json_string(out, date_time_text(cell.date));
    case CellKind::kDuration:
      return base::append_json_string(out, duration_text(cell.number));
    case CellKind::kError:
    case CellKind::kFault:
      out += "{\"error\":";
      base::append_json_string(out, cell.text);
      out += '}';
      return;
  }
}

}  // namespace waybill::xlsx
