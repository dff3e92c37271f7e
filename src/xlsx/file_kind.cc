#include "xlsx/file_kind.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "xlsx/zip_format.h"

namespace waybill::xlsx {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLookedAtBytes = 4'096;
constexpr std::string_view kCompoundSignature = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv;
constexpr std::size_t kCompoundHeaderBytes = 512;
constexpr std::size_t kCompoundEntryBytes = 128;
constexpr std::size_t kCompoundHeaderFatSectors = 109;
constexpr int kMaxDirectorySectors = 256;

base::Error not_a_workbook(std::string_view what) {
  base::Error error =
      base::invalid("file", "the file is " + std::string(what) + ", not an XLSX workbook");
  error.code = "XLSX_NOT_A_WORKBOOK";
  return error;
}

base::Error encrypted() {
  base::Error error =
      base::invalid("file", "the workbook is protected by a password; save it without one");
  error.code = "XLSX_ENCRYPTED";
  return error;
}

// Walks the directory of a compound file ([MS-CFB]) for streams that tell what it is.
class CompoundFile {
 public:
  explicit CompoundFile(const ByteSource& source) : source_(source) {}

  // The ASCII letters of all entry names, one a line.
  base::Result<std::string> names() {
    WAYBILL_ASSIGN(header_,
                   source_.text(0, std::min<std::uint64_t>(source_.size(), kCompoundHeaderBytes)));
    if (header_.size() < kCompoundHeaderBytes) return std::string();
    const unsigned shift = zip::get16(header_, 30);
    if (shift != 9 && shift != 12) return std::string();
    sector_bytes_ = std::size_t{1} << shift;
    std::string out;
    std::uint32_t sector = zip::get32(header_, 48);
    for (int i = 0; i < kMaxDirectorySectors && exists(sector); ++i) {
      WAYBILL_ASSIGN(const std::string entries, source_.text(place(sector), sector_bytes_));
      for (std::size_t at = 0; at < entries.size(); at += kCompoundEntryBytes)
        add_name(std::string_view(entries).substr(at, kCompoundEntryBytes), out);
      WAYBILL_ASSIGN(sector, next(sector));
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  [[nodiscard]] std::uint64_t place(std::uint32_t sector) const {
    return (std::uint64_t{sector} + 1) * sector_bytes_;
  }
  [[nodiscard]] bool exists(std::uint32_t sector) const {
    return place(sector) + sector_bytes_ <= source_.size();
  }
  // Only through the part of the allocation table that the header lists: 6.8 MiB or more of file.
  base::Result<std::uint32_t> next(std::uint32_t sector) {
    const std::size_t per_sector = sector_bytes_ / 4;
    const std::size_t index = sector / per_sector;
    if (index >= kCompoundHeaderFatSectors) return kNone;
    const std::uint32_t table = zip::get32(header_, 76 + 4 * index);
    if (!exists(table)) return kNone;
    WAYBILL_ASSIGN(const std::string entry,
                   source_.text(place(table) + 4 * (sector % per_sector), 4));
    return zip::get32(entry, 0);
  }
  static void add_name(std::string_view entry, std::string& out) {
    const std::size_t bytes = std::min<std::size_t>(zip::get16(entry, 64), 64);
    for (std::size_t at = 0; at + 1 < bytes; at += 2) {
      if (entry[at + 1] == '\0' && entry[at] >= ' ' && entry[at] <= '~') out += entry[at];
    }
    out += '\n';
  }

  const ByteSource& source_;
  std::string header_;
  std::size_t sector_bytes_ = 0;
};

base::Error name_compound(const ByteSource& source) {
  WAYBILL_ASSIGN(const std::string names, CompoundFile(source).names());
  const auto has = [&names](std::string_view name) {
    return ("\n" + names).find("\n" + std::string(name) + "\n") != std::string::npos;
  };
  if (has("EncryptedPackage")) return encrypted();
  if (has("Workbook") || has("Book"))
    return not_a_workbook("an old Excel workbook (.xls)");
  if (has("WordDocument")) return not_a_workbook("an old Word document (.doc)");
  if (has("PowerPoint Document")) return not_a_workbook("an old PowerPoint presentation (.ppt)");
  return not_a_workbook("an OLE compound file");
}

bool has_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// Characters that text of any 8-bit encoding has.
bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
  });
}

std::string_view name_markup(std::string_view text) {
  if (has_word(text, "<html") || has_word(text, "<!doctype html") || has_word(text, "<table"))
    return "an HTML page";
  if (has_word(text, "urn:schemas-microsoft-com:office:spreadsheet"))
    return "an Excel 2003 XML workbook";
  return "an XML document";
}

std::string_view name_content(std::string_view head) {
  constexpr std::pair<std::string_view, std::string_view> kSignatures[] = {
      {"%PDF-", "a PDF document"},
      {"{\\rtf", "an RTF document"},
      {"\x1F\x8B"sv, "a gzip file"},
      {"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive"},
      {"Rar!\x1A"sv, "a RAR archive"},
      {"\x89PNG"sv, "an image"},
      {"\xFF\xD8\xFF"sv, "an image"},
      {"GIF8", "an image"},
      {"\xFF\xFE"sv, "UTF-16 text, such as an exported CSV"},
      {"\xFE\xFF"sv, "UTF-16 text, such as an exported CSV"},
  };
  for (const auto& [signature, name] : kSignatures) {
    if (head.starts_with(signature)) return name;
  }
  constexpr std::string_view kOldKinds =
      "\x00\x02\x04\x08"sv;  // BIFF2 to BIFF5, without a container
  if (head.size() > 4 && head[0] == '\x09' && kOldKinds.find(head[1]) != std::string_view::npos &&
      head[3] == '\0') {
    return "an old Excel sheet (.xls)";
  }
  const std::string_view body = head.starts_with("\xEF\xBB\xBF") ? head.substr(3) : head;
  if (!is_text(body)) return "of an unknown kind";
  const std::string_view text = base::trim(body);
  if (text.empty()) return "blank";
  if (text.front() == '<') return name_markup(text);
  if (text.front() == '{' || text.front() == '[') return "JSON or other text";
  return "plain text, such as CSV";
}

}  // namespace

std::optional<base::Error> refuse_other_file(const ByteSource& source) {
  if (source.size() == 0) return not_a_workbook("empty");
  const auto head = source.text(0, std::min<std::uint64_t>(source.size(), kLookedAtBytes));
  if (!head.ok()) return head.error();
  if (head->starts_with("PK\x03\x04") || head->starts_with("PK\x05\x06")) return std::nullopt;
  if (head->starts_with(kCompoundSignature)) return name_compound(source);
  return not_a_workbook(name_content(*head));
}

base::Error refuse_other_archive(const ZipReader& zip) {
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"xl/workbook.bin", "a binary Excel workbook (.xlsb)"},
      {"word/document.xml", "a Word document (.docx)"},
      {"ppt/presentation.xml", "a PowerPoint presentation (.pptx)"},
      {"index/document.iwa", "an Apple iWork document; export it as .xlsx"},
      {"meta-inf/manifest.xml", "an OpenDocument file (.ods, .odt)"},
      {"meta-inf/manifest.mf", "a Java archive"},
  };
  for (const auto& [part, name] : kParts) {
    if (zip.find(part) != nullptr) return not_a_workbook(name);
  }
  return not_a_workbook("a ZIP archive without a workbook");
}

}  // namespace waybill::xlsx
