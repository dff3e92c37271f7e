#include "xlsx/verify.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "xlsx/zip_format.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kOutputBytes = 256u << 10;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view kSheetPrefix = "xl/worksheets/sheet";
constexpr std::string_view kSheetSuffix = ".xml";
constexpr std::string_view kSheetEnd = "</worksheet>";
constexpr std::string_view kRowStart = "<row";

base::Error broken(std::string_view why) { return base::invalid("file", std::string(why)); }
base::Error broken(std::string_view part, std::string_view why) { return damaged_part(part, why); }

// Counts <row> elements of a sheet that arrives in pieces and sees whether it ends as a sheet does.
// Text cannot contain "<row": the < would be escaped.
class RowCounter {
 public:
  void feed(std::string_view piece) {
    // A row may begin in the kept end and be recognised only now.
    const std::string kept = end_;
    const std::size_t edge = std::min(kept.size(), kRowStart.size());
    count(kept.substr(kept.size() - edge) + std::string(piece.substr(0, kRowStart.size())), edge);
    count(piece, piece.size());
    end_ = piece.size() >= kKept ? std::string() : kept;
    end_ += piece.substr(piece.size() - std::min(piece.size(), kKept));
    if (end_.size() > kKept) end_.erase(0, end_.size() - kKept);
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] bool ended() const { return end_ == kSheetEnd; }

 private:
  static constexpr std::size_t kKept = kSheetEnd.size();
  static_assert(kKept >= kRowStart.size());

  // Counts the rows that start before `limit` and whose next character is inside `text`: those of
  // the last kRowStart.size() bytes are left for the next piece.
  void count(std::string_view text, std::size_t limit) {
    const std::size_t starts =
        std::min(limit, text.size() - std::min(text.size(), kRowStart.size()));
    std::size_t at = 0;
    while (starts - at >= kLanes) {
      // 255 is what a lane can count.
      const std::size_t rounds = std::min<std::size_t>((starts - at) / kLanes, 255);
      Lanes hits{};
      for (std::size_t i = 0; i < rounds; ++i, at += kLanes) hits -= rows_at(text.data() + at);
      for (std::size_t lane = 0; lane < kLanes; ++lane) rows_ += hits[lane];
    }
    for (; at < starts; ++at) {
      const char next = text[at + kRowStart.size()];
      if (text.substr(at, kRowStart.size()) == kRowStart &&
          (next == ' ' || next == '>' || next == '/')) {
        ++rows_;
      }
    }
  }

  // 16 places at once: searching for '<' would stop several times in every cell.
  static constexpr std::size_t kLanes = 16;
  using Lanes [[gnu::vector_size(kLanes)]] = unsigned char;
  static Lanes load(const char* p) {
    Lanes lanes;
    std::memcpy(&lanes, p, sizeof lanes);
    return lanes;
  }
  // All bits of a lane where a row begins, else none.
  static Lanes rows_at(const char* p) {
    const Lanes next = load(p + 4);
    return Lanes((load(p) == '<') & (load(p + 1) == 'r') & (load(p + 2) == 'o') &
                 (load(p + 3) == 'w') & ((next == ' ') | (next == '>') | (next == '/')));
  }

  std::int64_t rows_ = 0;
  std::string end_;  // the last kKept bytes so far
};

class Verifier {
 public:
  explicit Verifier(ByteSource source) : source_(std::move(source)), output_(kOutputBytes) {}

  base::Result<Verified> run() {
    WAYBILL_ASSIGN(const ZipReader zip, ZipReader::open(source_));
    if (zip.comment_bytes() != 0) return broken("bytes behind the end record");
    std::uint64_t at = 0;
    for (const ZipPart& part : zip.parts()) {
      if (part.offset != at)
        return broken(part.name, "it does not begin where the one before ends");
      WAYBILL_TRY(check_zip64(part));
      WAYBILL_TRY(check_content(zip, part));
      WAYBILL_ASSIGN(at, check_descriptor(part));
    }
    if (at != zip.directory_offset()) return broken("bytes between the parts and the directory");
    return result(zip);
  }

 private:
  base::Status check_content(const ZipReader& zip, const ZipPart& part);
  base::Result<std::uint64_t> check_descriptor(const ZipPart& part) const;
  base::Result<Verified> result(const ZipReader& zip) const;

  // Readers that know no ZIP64 must be told.
  static base::Status check_zip64(const ZipPart& part) {
    const bool big = std::max(part.size, part.packed) >= zip::kMax32;
    if ((big && !part.local_zip64) ||
        (part.local_zip64 && part.local_version < zip::kVersionZip64) ||
        ((big || part.offset >= zip::kMax32) && part.version < zip::kVersionZip64)) {
      return broken(part.name, "it does not announce ZIP64");
    }
    return {};
  }

  ByteSource source_;
  std::vector<char> output_;
  std::map<std::uint64_t, std::int64_t> rows_;  // by sheet number
};

// The number of a sheet's part name, nothing for other parts.
std::optional<std::uint64_t> sheet_number(std::string_view name) {
  if (!name.starts_with(kSheetPrefix) || !name.ends_with(kSheetSuffix)) return std::nullopt;
  name.remove_prefix(kSheetPrefix.size());
  name.remove_suffix(std::min(kSheetSuffix.size(), name.size()));
  const std::optional<std::int64_t> number = base::parse_int(name);
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

base::Status Verifier::check_content(const ZipReader& zip, const ZipPart& part) {
  const std::optional<std::uint64_t> sheet = sheet_number(part.name);
  InflateBudget no_limit{kNoLimit, kNoLimit};
  PartReader reader(zip, part, no_limit);
  RowCounter counter;
  for (;;) {
    WAYBILL_ASSIGN(const std::size_t got, reader.read(output_));
    if (got == 0) break;
    if (sheet) counter.feed({output_.data(), got});
  }
  if (!sheet) return {};
  if (!counter.ended()) return broken(part.name, "the sheet has no end");
  if (!rows_.emplace(*sheet, counter.rows()).second) return broken(part.name, "it exists twice");
  return {};
}

// Where the next part must begin.
base::Result<std::uint64_t> Verifier::check_descriptor(const ZipPart& part) const {
  if (!part.streamed()) return part.end();
  const std::size_t word = part.local_zip64 ? 8 : 4;
  WAYBILL_ASSIGN(const std::string text, source_.text(part.end(), 8 + 2 * word));
  if (zip::get32(text, 0) != zip::kDescriptorSignature || zip::get32(text, 4) != part.crc ||
      zip::get(text, 8, word) != part.packed || zip::get(text, 8 + word, word) != part.size) {
    return broken(part.name, "data descriptor and directory disagree");
  }
  return part.end() + text.size();
}

base::Result<Verified> Verifier::result(const ZipReader& zip) const {
  for (const std::string_view needed : {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml",
                                        "xl/_rels/workbook.xml.rels", "xl/styles.xml"}) {
    const ZipPart* part = zip.find(needed);
    if (part == nullptr || part->name != needed) return broken(needed, "it is missing");
  }
  Verified verified;
  for (const auto& [number, rows] : rows_) {
    if (number != verified.rows_per_sheet.size() + 1) return broken("a sheet is missing");
    verified.rows_per_sheet.push_back(rows);
  }
  if (verified.rows_per_sheet.empty()) return broken("it has no sheet");
  return verified;
}

}  // namespace

base::Result<Verified> verify_package(std::uint64_t size, const RandomRead& read) {
  auto verified = Verifier(ByteSource(size, read)).run();
  if (verified.ok()) return verified;
  // The file is ours: what is wrong with it went wrong on its way, and another attempt helps.
  const base::Error& error = verified.error();
  const bool judged = error.category == base::ErrorCategory::kInvalid ||
                      error.category == base::ErrorCategory::kLimit;
  if (!judged) return verified;
  return base::unavailable("the finished spreadsheet is not whole: " + error.message);
}

}  // namespace waybill::xlsx
