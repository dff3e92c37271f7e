#include "exporting/export_output.h"

#include <utility>

#include "xlsx/verify.h"

namespace waybill::exporting {

ExportOutput::ExportOutput(std::unique_ptr<files::Sink> sink, std::function<bool()> stop)
    : sink_(std::move(sink)), stop_(std::move(stop)) {}

ExportOutput::~ExportOutput() {
  if (!commit_tried_) sink_->abort();
}

base::Status ExportOutput::open(std::vector<xlsx::Column> columns, xlsx::WriterOptions options) {
  WAYBILL_ASSIGN(writer_,
                 xlsx::Writer::open(std::move(columns), std::move(options),
                                    [this](std::string_view bytes) { return write(bytes); }));
  return {};
}

base::Status ExportOutput::write(std::string_view bytes) {
  if (stop_()) return base::cancelled("the execution has to stop");
  sha_.update(bytes.data(), bytes.size());
  bytes_ += bytes.size();
  return sink_->write(bytes);
}

base::Result<xlsx::WriterReport> ExportOutput::close() {
  WAYBILL_ASSIGN(xlsx::WriterReport report, writer_->close());
  sha256_ = base::to_hex(sha_.finish());
  return report;
}

base::Status ExportOutput::verify(const xlsx::WriterReport& report) {
  if (report.bytes != bytes_)
    return base::unavailable("the file's size differs from what was written");
  const auto read = [this](std::uint64_t offset,
                           std::span<char> buffer) -> base::Result<std::size_t> {
    if (stop_()) return base::cancelled("the execution has to stop");
    return sink_->read_back(offset, buffer);
  };
  WAYBILL_ASSIGN(const xlsx::Verified verified, xlsx::verify_package(bytes_, read));
  bool equal = verified.rows_per_sheet.size() == report.rows_per_sheet.size();
  for (std::size_t i = 0; equal && i < report.rows_per_sheet.size(); ++i) {
    equal = verified.rows_per_sheet[i] == report.rows_per_sheet[i] + 1;  // and the header
  }
  if (!equal) return base::unavailable("the file holds another number of rows than were written");
  return {};
}

base::Status ExportOutput::commit() {
  commit_tried_ = true;
  return sink_->commit();
}

}  // namespace waybill::exporting
