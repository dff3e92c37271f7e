// For tests and fuzzing only: ZIP archives and workbooks made by hand, each field of which can lie.

#ifndef WAYBILL_XLSX_TEST_ZIP_H_
#define WAYBILL_XLSX_TEST_ZIP_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include "xlsx/cell_ref.h"
#include "xlsx/reader.h"
#include "xlsx/zip_format.h"

namespace waybill::xlsx::testing {

inline std::string deflate_raw(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// What a header says of a part.
struct Claims {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = zip::kMethodDeflate;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::string extra;
};

// Puts an archive together. Change what add() returns before the next call to make it lie.
class ZipMaker {
 public:
  struct Part {
    Claims local, central;
    std::string bytes;       // as they lie in the archive
    std::string descriptor;  // behind them
    std::optional<std::uint64_t> offset;
  };

  Part& add(std::string_view name, std::string_view content, bool packed = true) {
    Part part;
    part.bytes = packed ? deflate_raw(content) : std::string(content);
    part.central = {
        std::string(name),
        0,
        packed ? zip::kMethodDeflate : zip::kMethodStored,
        static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                           static_cast<uInt>(content.size()))),
        part.bytes.size(),
        content.size(),
        {}};
    part.local = part.central;
    parts_.push_back(std::move(part));
    return parts_.back();
  }
  Part& part(std::string_view name) {
    for (Part& part : parts_) {
      if (part.central.name == name) return part;
    }
    return add(name, "");
  }

  std::string finish(std::string_view comment = {}) {
    std::string out;
    for (Part& part : parts_) {
      if (!part.offset) part.offset = out.size();
      zip::put32(out, zip::kLocalSignature);
      put_common(out, part.local);
      zip::put16(out, part.local.name.size());
      zip::put16(out, part.local.extra.size());
      out += part.local.name + part.local.extra + part.bytes + part.descriptor;
    }
    const std::uint64_t directory = out.size();
    for (const Part& part : parts_) {
      zip::put32(out, zip::kCentralSignature);
      zip::put16(out, zip::kVersionZip64);  // made by
      put_common(out, part.central);
      zip::put16(out, part.central.name.size());
      zip::put16(out, part.central.extra.size());
      zip::put64(out, 0);  // comment, disk, attributes
      zip::put16(out, 0);
      zip::put32(out, *part.offset);
      out += part.central.name + part.central.extra;
    }
    const std::uint64_t size = out.size() - directory;
    zip::put32(out, zip::kEndSignature);
    zip::put32(out, 0);
    zip::put16(out, parts_.size());
    zip::put16(out, parts_.size());
    zip::put32(out, size);
    zip::put32(out, directory);
    zip::put16(out, comment.size());
    return out += comment;
  }

 private:
  static void put_common(std::string& out, const Claims& claims) {
    zip::put16(out, zip::kVersionZip64);
    zip::put16(out, claims.flags);
    zip::put16(out, claims.method);
    zip::put16(out, zip::kFixedTime);
    zip::put16(out, zip::kFixedDate);
    zip::put32(out, claims.crc);
    zip::put32(out, claims.packed);
    zip::put32(out, claims.size);
  }
  std::vector<Part> parts_;
};

// The parts of a workbook; empty ones are left out.
struct BookParts {
  std::string types =
      "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";
  std::string rels =
      "<Relationships><Relationship Id=\"r1\" Type=\"http://x/officeDocument\" "
      "Target=\"xl/workbook.xml\"/></Relationships>";
  std::string workbook =
      "<workbook xmlns:r=\"http://r\"><sheets><sheet name=\"Data\" sheetId=\"1\" "
      "r:id=\"s1\"/></sheets></workbook>";
  std::string workbook_rels =
      "<Relationships><Relationship Id=\"s1\" Type=\"http://x/worksheet\" "
      "Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"s2\" Type=\"http://x/sharedStrings\" "
      "Target=\"sharedStrings.xml\"/><Relationship Id=\"s3\" Type=\"http://x/styles\" "
      "Target=\"styles.xml\"/></Relationships>";
  std::string sheet;
  std::string strings;
  std::string styles;

  [[nodiscard]] ZipMaker zip() const {
    ZipMaker out;
    const std::pair<std::string_view, const std::string&> parts[] = {
        {"[Content_Types].xml", types},
        {"_rels/.rels", rels},
        {"xl/workbook.xml", workbook},
        {"xl/_rels/workbook.xml.rels", workbook_rels},
        {"xl/worksheets/sheet1.xml", sheet},
        {"xl/sharedStrings.xml", strings},
        {"xl/styles.xml", styles}};
    for (const auto& [name, content] : parts) {
      if (!content.empty()) out.add(name, content);
    }
    return out;
  }
};

inline std::string sheet_of(std::string_view rows) {
  return "<worksheet><sheetData>" + std::string(rows) + "</sheetData></worksheet>";
}
// A style sheet of so many cell formats, each with its own format code.
inline std::string styles_of(const std::vector<std::string>& codes) {
  std::string formats;
  std::string cells;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::string id = std::to_string(164 + i);
    formats += "<numFmt numFmtId=\"" + id + "\" formatCode=\"" + codes[i] + "\"/>";
    cells += "<xf numFmtId=\"" + id + "\"/>";
  }
  return "<styleSheet><numFmts>" + formats + "</numFmts><cellXfs>" + cells +
         "</cellXfs></styleSheet>";
}

inline RandomRead reading(std::string_view package) {
  return [package](std::uint64_t offset, std::span<char> buffer) -> base::Result<std::size_t> {
    const std::string_view from = package.substr(offset, buffer.size());
    std::memcpy(buffer.data(), from.data(), from.size());
    return from.size();
  };
}

// Every cell of a sheet as A1=value, blanks between the cells of a row, one text per row.
inline base::Result<std::vector<std::string>> read_rows(std::string_view package,
                                                        std::optional<std::size_t> sheet = {},
                                                        const ReaderOptions& options = {}) {
  WAYBILL_ASSIGN(const auto reader, Reader::open(package.size(), reading(package), options));
  WAYBILL_ASSIGN(const auto rows, reader->open_sheet(sheet.value_or(reader->default_sheet())));
  std::vector<std::string> out;
  for (;;) {
    WAYBILL_ASSIGN(const Row* const row, rows->next());
    if (row == nullptr) return out;
    std::string text;
    for (const Cell& cell : row->cells) {
      text += (text.empty() ? "" : " ") + cell_name(cell.column, row->number) + "=";
      append_json(text, cell);
    }
    out.push_back(std::move(text));
  }
}

// The same as one line: rows joined by "; ", or the error's message.
inline std::string outcome(std::string_view package, std::optional<std::size_t> sheet = {},
                           const ReaderOptions& options = {}) {
  const auto rows = read_rows(package, sheet, options);
  if (!rows.ok()) return "error: " + rows.error().message;
  std::string out;
  for (const std::string& row : *rows) out += (out.empty() ? "" : "; ") + row;
  return out;
}
inline std::string outcome(const BookParts& parts) { return outcome(parts.zip().finish()); }

}  // namespace waybill::xlsx::testing

#endif  // WAYBILL_XLSX_TEST_ZIP_H_
