// Says what a file is that is no XLSX workbook, by its content, so that the answer to a wrong
// upload is one clear sentence.

#ifndef WAYBILL_XLSX_FILE_KIND_H_
#define WAYBILL_XLSX_FILE_KIND_H_

#include <optional>

#include "base/result.h"
#include "xlsx/random_read.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {

// Nothing for a file that begins as a ZIP archive does; otherwise the error to answer with:
// kInvalid, field "file", code "XLSX_ENCRYPTED" or "XLSX_NOT_A_WORKBOOK", or an error of the source
// as it is.
std::optional<base::Error> refuse_other_file(const ByteSource& source);

// For an archive without a workbook that we read: names OpenDocument, XLSB, Word, ...
base::Error refuse_other_archive(const ZipReader& zip);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_FILE_KIND_H_
