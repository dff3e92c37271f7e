// The object being written by one execution: writer -> checksum -> sink.

#ifndef WAYBILL_EXPORTING_EXPORT_OUTPUT_H_
#define WAYBILL_EXPORTING_EXPORT_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "exporting/provider_page.h"
#include "files/files.h"
#include "xlsx/writer.h"

namespace waybill::exporting {

// Not thread-safe. Destroyed before commit() it leaves nothing behind; after commit(), whatever it
// answered, the object is the caller's to keep or to remove.
class ExportOutput {
 public:
  // `stop` is asked before every write and while verifying; true ends them with kCancelled.
  ExportOutput(std::unique_ptr<files::Sink> sink, std::function<bool()> stop);
  ~ExportOutput();
  ExportOutput(const ExportOutput&) = delete;
  ExportOutput& operator=(const ExportOutput&) = delete;

  base::Status open(std::vector<xlsx::Column> columns, xlsx::WriterOptions options);
  // REQUIRES: open() succeeded.
  base::Result<std::int64_t> append(const ProviderPage& page) {
    return writer_->append_json_rows(page.rows_json(), stop_, page.readable_behind());
  }
  [[nodiscard]] std::int64_t rows() const { return writer_->rows(); }
  // Ends the package and fixes the checksum.
  base::Result<xlsx::WriterReport> close();
  // Reads the package back and compares it with the writer's report, before anybody can see it.
  // kUnavailable when it is not whole.
  base::Status verify(const xlsx::WriterReport& report);
  // kOutcomeUnknown as files::Sink says.
  base::Status commit();

  [[nodiscard]] bool commit_tried() const { return commit_tried_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& sha256() const { return sha256_; }  // after close()

 private:
  base::Status write(std::string_view bytes);

  const std::unique_ptr<files::Sink> sink_;
  const std::function<bool()> stop_;
  base::Sha256 sha_;
  std::string sha256_;
  std::uint64_t bytes_ = 0;
  bool commit_tried_ = false;
  std::unique_ptr<xlsx::Writer> writer_;  // last: it writes through the members above
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_EXPORT_OUTPUT_H_
