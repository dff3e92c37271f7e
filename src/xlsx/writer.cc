#include "xlsx/writer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "xlsx/json_rows.h"
#include "xlsx/parts.h"
#include "xlsx/row_packer.h"
#include "xlsx/row_writer.h"
#include "xlsx/shared_strings.h"
#include "xlsx/sheet_name.h"
#include "xlsx/xml_buffer.h"
#include "xlsx/zip_writer.h"

namespace waybill::xlsx {
namespace {

// A file that may grow this large gets ZIP64 headers on its sheets; deflate packs sheets 5 to 20
// times, so a smaller one can hardly hold a sheet of 4 GiB. If it does, the sheet is continued on
// the next one. Plain headers suit the widest range of readers.
constexpr std::uint64_t kLargeFileBytes = 256ull << 20;
constexpr std::uint64_t kPlainSheetBytes =
    0xF000'0000;  // leaves room for the longest row that fits a page

class XlsxWriter final : public Writer, private RowHandler {
 public:
  XlsxWriter(std::vector<Column> columns, WriterOptions options, ByteSink sink)
      : columns_(std::move(columns)),
        options_(std::move(options)),
        zip_(std::move(sink), options_.compression, options_.max_file_bytes),
        row_packer_(zip_, columns_.size() + 1, options_.compression),  // and the row number
        xml_(zip_, &row_packer_),
        strings_(options_.shared_string_budget_bytes),
        page_(columns_),
        rows_(columns_, options_, xml_, strings_, report_) {}

  base::Status start() {
    WAYBILL_TRY(zip_.add("_rels/.rels", package_rels_part()));
    WAYBILL_TRY(zip_.add("docProps/core.xml", core_properties_part(options_)));
    WAYBILL_TRY(zip_.add("xl/styles.xml", styles_part()));
    return open_sheet();
  }

  base::Result<std::int64_t> append_json_rows(std::string_view json,
                                              const std::function<bool()>& stop,
                                              std::size_t readable_behind) override {
    if (!status_.ok()) return status_.error();
    stop_ = &stop;
    const std::int64_t before = report_.rows;
    status_ = page_.read(json, readable_behind, *this);
    stop_ = nullptr;
    if (!status_.ok()) return status_.error();
    return report_.rows - before;
  }

  base::Status append_row(std::span<const CellValue> cells) override {
    if (!status_.ok()) return status_.error();
    if (cells.size() > columns_.size()) {
      status_ = base::invalid("cells", "a row has more cells than the sheet has columns");
    } else {
      status_ = add_row([&](std::int64_t number) { return rows_.put_cells(number, cells); });
    }
    return status_;
  }

  base::Result<WriterReport> close() override {
    if (!status_.ok()) return status_.error();
    status_ = finish();
    if (!status_.ok()) return status_.error();
    status_ = base::internal("the spreadsheet is already closed");
    report_.text_repaired += page_.repaired();
    report_.undeclared_keys = page_.undeclared_keys();
    report_.bytes = zip_.bytes();
    return report_;
  }

  [[nodiscard]] std::int64_t rows() const override { return report_.rows; }
  [[nodiscard]] std::uint64_t bytes() const override { return zip_.bytes(); }

 private:
  base::Status row(std::span<const JsonValue> values) override {
    if (report_.rows % kStopCheckRows == 0 && *stop_ && (*stop_)()) {
      return base::cancelled("writing the spreadsheet was stopped");
    }
    return add_row([&](std::int64_t number) { return rows_.put_row(number, values); });
  }

  // `put` writes the row of the number it is given.
  template <class Put>
  base::Status add_row(const Put& put) {
    if (report_.rows == options_.max_rows) {
      return base::over_limit("max_rows", options_.max_rows, "rows", report_.rows + 1,
                              "the export has more rows than allowed; narrow the selection");
    }
    if (sheets_.back().last_row == kMaxRowsPerSheet ||
        (!large_ && xml_.part_bytes() > kPlainSheetBytes)) {
      WAYBILL_TRY(close_sheet());
      WAYBILL_TRY(open_sheet());
    }
    WAYBILL_TRY(put(++sheets_.back().last_row));
    ++report_.rows_per_sheet.back();
    ++report_.rows;
    return {};
  }

  base::Status open_sheet() {
    const bool first = sheets_.empty();
    sheets_.push_back({names_.next(options_.sheet_name), 1});
    report_.rows_per_sheet.push_back(0);
    WAYBILL_TRY(zip_.begin(sheet_path(sheets_.size()), large_));
    xml_.begin_rows();
    xml_.put(sheet_head(columns_, first));
    rows_.put_header(first);
    return xml_.status();
  }

  base::Status close_sheet() {
    xml_.put(sheet_tail(columns_.size(), sheets_.back().last_row));
    xml_.end_rows();
    return end_part();
  }

  base::Status end_part() {
    xml_.flush();
    WAYBILL_TRY(xml_.status());
    return zip_.end();
  }

  base::Status finish() {
    WAYBILL_TRY(close_sheet());
    const bool shared = strings_.size() > 0;
    if (shared) {
      WAYBILL_TRY(zip_.begin("xl/sharedStrings.xml", false));
      strings_.put_part(xml_);
      WAYBILL_TRY(end_part());
    }
    WAYBILL_TRY(zip_.add("xl/workbook.xml", workbook_part(sheets_, columns_.size())));
    WAYBILL_TRY(zip_.add("xl/_rels/workbook.xml.rels", workbook_rels_part(sheets_.size(), shared)));
    WAYBILL_TRY(zip_.add("docProps/app.xml", app_properties_part(options_)));
    WAYBILL_TRY(zip_.add("[Content_Types].xml", content_types_part(sheets_.size(), shared)));
    return zip_.finish();
  }

  const std::vector<Column> columns_;
  const WriterOptions options_;
  const bool large_ = options_.max_file_bytes >= kLargeFileBytes;
  WriterReport report_;
  ZipWriter zip_;
  RowPacker row_packer_;
  XmlBuffer xml_;
  SharedStrings strings_;
  JsonRows page_;
  RowWriter rows_;
  SheetNames names_;
  std::vector<SheetEntry> sheets_;
  const std::function<bool()>* stop_ = nullptr;
  base::Status status_;
};

base::Status check_columns(const std::vector<Column>& columns) {
  if (columns.empty() || columns.size() > kMaxColumns) {
    return base::invalid("columns", "a spreadsheet has 1 to " + std::to_string(kMaxColumns) +
                                        " columns, not " + std::to_string(columns.size()));
  }
  std::unordered_set<std::string_view> keys;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!keys.insert(columns[i].key).second) {
      return base::invalid("columns[" + std::to_string(i) + "].key",
                           "two columns have the same key");
    }
  }
  return {};
}

}  // namespace

base::Result<std::unique_ptr<Writer>> Writer::open(std::vector<Column> columns,
                                                   WriterOptions options, ByteSink sink) {
  WAYBILL_TRY(check_columns(columns));
  auto writer =
      std::make_unique<XlsxWriter>(std::move(columns), std::move(options), std::move(sink));
  WAYBILL_TRY(writer->start());
  return std::unique_ptr<Writer>(std::move(writer));
}

}  // namespace waybill::xlsx
