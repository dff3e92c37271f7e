#include "xlsx/verify.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <isa-l.h>

#include "base/text.h"
#include "xlsx/deflater.h"
#include "xlsx/zip_format.h"

namespace waybill::xlsx {
namespace {

constexpr std::uint64_t kMaxDirectoryBytes = 4u << 20;
constexpr std::uint64_t kMaxParts = 10'000;
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kInputBytes = 128u << 10;
constexpr std::size_t kOutputBytes = 256u << 10;
constexpr std::size_t kMaxLocalExtraBytes = 64;
constexpr std::string_view kSheetPrefix = "xl/worksheets/sheet";
constexpr std::string_view kSheetSuffix = ".xml";
constexpr std::string_view kSheetEnd = "</worksheet>";
constexpr std::string_view kRowStart = "<row";

base::Error broken(std::string_view why) {
  return base::unavailable("the finished spreadsheet is not whole: " + std::string(why));
}
base::Error broken(std::string_view part, std::string_view why) {
  return broken("part " + base::printable(part, 100) + ": " + std::string(why));
}

struct Part {
  std::string name;
  std::uint16_t version = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

// Where the central directory lies.
struct Directory {
  std::uint64_t parts = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t end = 0;  // first byte of the end records
};

// Exactly the bytes asked for, or an error.
class Source {
 public:
  Source(std::uint64_t size, const RandomRead& read) : size_(size), read_(read) {}
  [[nodiscard]] std::uint64_t size() const { return size_; }

  base::Status read(std::uint64_t offset, std::span<char> buffer) const {
    if (offset > size_ || buffer.size() > size_ - offset)
      return broken("it is shorter than its records say");
    while (!buffer.empty()) {
      WAYBILL_ASSIGN(const std::size_t got, read_(offset, buffer));
      if (got == 0 || got > buffer.size()) return broken("it is shorter than it was when written");
      offset += got;
      buffer = buffer.subspan(got);
    }
    return {};
  }
  [[nodiscard]] base::Result<std::string> text(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset)
      return broken("it is shorter than its records say");
    std::string out(bytes, '\0');
    WAYBILL_TRY(read(offset, out));
    return out;
  }

 private:
  std::uint64_t size_;
  const RandomRead& read_;
};

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
    for (std::size_t at = text.find(kRowStart); at != std::string_view::npos && at < limit;
         at = text.find(kRowStart, at + kRowStart.size())) {
      const std::size_t next = at + kRowStart.size();
      if (next < text.size() && (text[next] == ' ' || text[next] == '>' || text[next] == '/'))
        ++rows_;
    }
  }
  std::int64_t rows_ = 0;
  std::string end_;  // the last kKept bytes so far
};

// Raw inflate of one part.
class Inflater {
 public:
  Inflater() { isal_inflate_init(&state_); }
  void feed(std::string_view in) {
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in.data()));
    state_.avail_in = static_cast<std::uint32_t>(in.size());
  }
  // The next piece of output, empty when more input is needed or all is done; nothing for bytes
  // that are no deflate.
  std::optional<std::string_view> next(std::span<char> out) {
    if (done()) return std::string_view();
    state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_.avail_out = static_cast<std::uint32_t>(out.size());
    if (isal_inflate(&state_) < 0) return std::nullopt;
    return std::string_view(out.data(), out.size() - state_.avail_out);
  }
  [[nodiscard]] bool done() const { return state_.block_state == ISAL_BLOCK_FINISH; }
  // Whole input bytes that were not needed, those held back for the next code included.
  [[nodiscard]] std::size_t unused() const {
    return state_.avail_in + static_cast<std::size_t>(std::max(state_.read_in_length, 0)) / 8;
  }

 private:
  inflate_state state_{};
};

class Verifier {
 public:
  Verifier(std::uint64_t size, const RandomRead& read)
      : source_(size, read), input_(kInputBytes), output_(kOutputBytes) {}

  base::Result<Verified> run() {
    WAYBILL_ASSIGN(const Directory directory, find_directory());
    WAYBILL_ASSIGN(std::vector<Part> parts, read_directory(directory));
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.offset < b.offset; });
    std::uint64_t at = 0;
    for (const Part& part : parts) {
      if (part.offset != at)
        return broken(part.name, "it does not begin where the one before ends");
      WAYBILL_ASSIGN(at, check_part(part));
    }
    if (at != directory.offset) return broken("bytes between the parts and the directory");
    return result(parts);
  }

 private:
  base::Result<Directory> find_directory();
  base::Status read_end64(Directory& directory, std::uint64_t end_offset);
  base::Result<std::vector<Part>> read_directory(const Directory& directory);
  base::Status read_zip64(std::string_view extra, Part& part);
  base::Result<std::uint64_t> check_part(const Part& part);
  base::Result<std::uint64_t> check_local_header(const Part& part);
  base::Status check_content(const Part& part, std::uint64_t at);
  base::Status take(const Part& part, std::string_view piece, RowCounter* rows);
  base::Status check_descriptor(const Part& part, std::uint64_t at, std::size_t word);
  base::Result<Verified> result(const std::vector<Part>& parts);

  Source source_;
  std::vector<char> input_;
  std::vector<char> output_;
  std::uint32_t crc_ = 0;
  std::uint64_t inflated_ = 0;
  bool large_local_ = false;
  std::map<std::uint64_t, std::int64_t> rows_;  // by sheet number
};

bool is_marker16(std::uint64_t v) { return v == zip::kMax16; }
bool is_marker32(std::uint64_t v) { return v == zip::kMax32; }

base::Result<Directory> Verifier::find_directory() {
  if (source_.size() < zip::kEndBytes) return broken("it is too short");
  const std::uint64_t at = source_.size() - zip::kEndBytes;  // we write no comment behind it
  WAYBILL_ASSIGN(const std::string end, source_.text(at, zip::kEndBytes));
  if (zip::get32(end, 0) != zip::kEndSignature || zip::get16(end, 20) != 0)
    return broken("no end record");
  if (zip::get32(end, 4) != 0 || zip::get16(end, 8) != zip::get16(end, 10))
    return broken("a split archive");
  Directory directory;
  directory.parts = zip::get16(end, 10);
  directory.size = zip::get32(end, 12);
  directory.offset = zip::get32(end, 16);
  directory.end = at;
  if (is_marker16(directory.parts) || is_marker32(directory.size) ||
      is_marker32(directory.offset)) {
    WAYBILL_TRY(read_end64(directory, at));
  }
  if (directory.size > kMaxDirectoryBytes || directory.parts > kMaxParts)
    return broken("too many parts");
  if (directory.offset > directory.end || directory.size != directory.end - directory.offset) {
    return broken("the directory does not end at the end record");
  }
  return directory;
}

base::Status Verifier::read_end64(Directory& directory, std::uint64_t end_offset) {
  constexpr std::uint64_t kBoth = zip::kEnd64Bytes + zip::kLocator64Bytes;
  if (end_offset < kBoth) return broken("no ZIP64 end record");
  const std::uint64_t at = end_offset - kBoth;
  WAYBILL_ASSIGN(const std::string end, source_.text(at, kBoth));
  if (zip::get32(end, 0) != zip::kEnd64Signature || zip::get64(end, 4) != zip::kEnd64Bytes - 12 ||
      zip::get32(end, zip::kEnd64Bytes) != zip::kLocator64Signature ||
      zip::get64(end, zip::kEnd64Bytes + 8) != at || zip::get64(end, 24) != zip::get64(end, 32)) {
    return broken("no ZIP64 end record");
  }
  directory.parts = zip::get64(end, 32);
  directory.size = zip::get64(end, 40);
  directory.offset = zip::get64(end, 48);
  directory.end = at;
  return {};
}

base::Result<std::vector<Part>> Verifier::read_directory(const Directory& directory) {
  WAYBILL_ASSIGN(const std::string text, source_.text(directory.offset, directory.size));
  std::vector<Part> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at < zip::kCentralBytes || zip::get32(text, at) != zip::kCentralSignature) {
      return broken("the directory is damaged");
    }
    Part part;
    part.version = zip::get16(text, at + 6);
    part.flags = zip::get16(text, at + 8);
    part.method = zip::get16(text, at + 10);
    part.crc = zip::get32(text, at + 16);
    part.packed = zip::get32(text, at + 20);
    part.size = zip::get32(text, at + 24);
    part.offset = zip::get32(text, at + 42);
    const std::size_t name = zip::get16(text, at + 28);
    const std::size_t extra = zip::get16(text, at + 30);
    const std::size_t comment = zip::get16(text, at + 32);
    at += zip::kCentralBytes;
    if (name == 0 || name > kMaxNameBytes || name + extra + comment > text.size() - at) {
      return broken("the directory is damaged");
    }
    part.name = text.substr(at, name);
    WAYBILL_TRY(read_zip64(std::string_view(text).substr(at + name, extra), part));
    at += name + extra + comment;
    parts.push_back(std::move(part));
  }
  if (parts.size() != directory.parts)
    return broken("the directory does not hold as many parts as it says");
  return parts;
}

// Takes the values that did not fit their 32-bit fields, in the order that the format fixes.
base::Status Verifier::read_zip64(std::string_view extra, Part& part) {
  std::string_view wide;
  while (extra.size() >= 4) {
    const std::size_t size = zip::get16(extra, 2);
    if (size > extra.size() - 4) return broken(part.name, "damaged extra field");
    if (zip::get16(extra, 0) == zip::kExtraZip64) wide = extra.substr(4, size);
    extra.remove_prefix(4 + size);
  }
  bool needed = false;
  for (std::uint64_t* value : {&part.size, &part.packed, &part.offset}) {
    if (!is_marker32(*value)) continue;
    needed = true;
    if (wide.size() < 8) return broken(part.name, "no ZIP64 sizes");
    *value = zip::get64(wide, 0);
    wide.remove_prefix(8);
  }
  if (needed && part.version < zip::kVersionZip64)
    return broken(part.name, "ZIP64 without version 4.5");
  return {};
}

// Where the next part must begin.
base::Result<std::uint64_t> Verifier::check_part(const Part& part) {
  const bool streamed = (part.flags & zip::kFlagDescriptor) != 0;
  if (part.method != zip::kMethodDeflate && part.method != zip::kMethodStored) {
    return broken(part.name, "unknown compression method");
  }
  if (part.method == zip::kMethodStored && (streamed || part.packed != part.size)) {
    return broken(part.name, "a stored part without its real sizes");
  }
  WAYBILL_ASSIGN(const std::uint64_t content, check_local_header(part));
  if (part.packed > source_.size() - content) return broken(part.name, "it runs past the end");
  WAYBILL_TRY(check_content(part, content));
  const std::uint64_t end = content + part.packed;
  if (!streamed) return end;
  const std::size_t word = large_local_ ? 8 : 4;
  WAYBILL_TRY(check_descriptor(part, end, word));
  return end + 8 + 2 * word;
}

// Where the content begins.
base::Result<std::uint64_t> Verifier::check_local_header(const Part& part) {
  WAYBILL_ASSIGN(const std::string header, source_.text(part.offset, zip::kLocalBytes));
  const std::size_t name = zip::get16(header, 26);
  const std::size_t extra = zip::get16(header, 28);
  if (zip::get32(header, 0) != zip::kLocalSignature || zip::get16(header, 6) != part.flags ||
      zip::get16(header, 8) != part.method || name != part.name.size() ||
      extra > kMaxLocalExtraBytes) {
    return broken(part.name, "local header and directory disagree");
  }
  WAYBILL_ASSIGN(const std::string rest,
                 source_.text(part.offset + zip::kLocalBytes, name + extra));
  if (rest.substr(0, name) != part.name)
    return broken(part.name, "local header and directory disagree");
  large_local_ = extra >= 4 && zip::get16(rest, name) == zip::kExtraZip64;
  const bool big = std::max(part.size, part.packed) >= zip::kMax32;
  if ((big && !large_local_) || (large_local_ && zip::get16(header, 4) < zip::kVersionZip64)) {
    return broken(part.name, "its local header does not announce ZIP64");
  }
  const bool streamed = (part.flags & zip::kFlagDescriptor) != 0;
  if (!streamed && (zip::get32(header, 14) != part.crc || zip::get32(header, 18) != part.packed ||
                    zip::get32(header, 22) != part.size)) {
    return broken(part.name, "local header and directory disagree");
  }
  return part.offset + zip::kLocalBytes + name + extra;
}

// The number of a sheet's part name, nothing for other parts.
std::optional<std::uint64_t> sheet_number(std::string_view name) {
  if (!name.starts_with(kSheetPrefix) || !name.ends_with(kSheetSuffix)) return std::nullopt;
  name.remove_prefix(kSheetPrefix.size());
  name.remove_suffix(std::min(kSheetSuffix.size(), name.size()));
  const std::optional<std::int64_t> number = base::parse_int(name);
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

base::Status Verifier::check_content(const Part& part, std::uint64_t at) {
  const std::optional<std::uint64_t> sheet = sheet_number(part.name);
  RowCounter counter;
  RowCounter* rows = sheet ? &counter : nullptr;
  const bool packed = part.method == zip::kMethodDeflate;
  auto inflater = std::make_unique<Inflater>();  // too large for the stack
  crc_ = 0;
  inflated_ = 0;
  std::uint64_t left = part.packed;
  while (left > 0) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(left, input_.size()));
    WAYBILL_TRY(source_.read(at, {input_.data(), step}));
    at += step;
    left -= step;
    if (!packed) {
      WAYBILL_TRY(take(part, {input_.data(), step}, rows));
      continue;
    }
    inflater->feed({input_.data(), step});
    for (;;) {
      const std::optional<std::string_view> piece = inflater->next(output_);
      if (!piece) return broken(part.name, "damaged compressed data");
      if (piece->empty()) break;
      WAYBILL_TRY(take(part, *piece, rows));
    }
    if (inflater->done() && (left > 0 || inflater->unused() > 0))
      return broken(part.name, "bytes after its end");
  }
  if (packed && !inflater->done()) return broken(part.name, "it ends too early");
  if (inflated_ != part.size || crc_ != part.crc)
    return broken(part.name, "size or checksum differ");
  if (!sheet) return {};
  if (!counter.ended()) return broken(part.name, "the sheet has no end");
  if (!rows_.emplace(*sheet, counter.rows()).second) return broken(part.name, "it exists twice");
  return {};
}

// Stops at the first byte over the promised size, so that nothing inflates without end.
base::Status Verifier::take(const Part& part, std::string_view piece, RowCounter* rows) {
  if (piece.size() > part.size - inflated_)
    return broken(part.name, "it is larger than its records say");
  inflated_ += piece.size();
  crc_ = crc32(crc_, piece);
  if (rows != nullptr) rows->feed(piece);
  return {};
}

base::Status Verifier::check_descriptor(const Part& part, std::uint64_t at, std::size_t word) {
  WAYBILL_ASSIGN(const std::string text, source_.text(at, 8 + 2 * word));
  if (zip::get32(text, 0) != zip::kDescriptorSignature || zip::get32(text, 4) != part.crc ||
      zip::get(text, 8, word) != part.packed || zip::get(text, 8 + word, word) != part.size) {
    return broken(part.name, "data descriptor and directory disagree");
  }
  return {};
}

base::Result<Verified> Verifier::result(const std::vector<Part>& parts) {
  for (const std::string_view needed : {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml",
                                        "xl/_rels/workbook.xml.rels", "xl/styles.xml"}) {
    const auto same = [needed](const Part& part) { return part.name == needed; };
    if (std::count_if(parts.begin(), parts.end(), same) != 1)
      return broken(needed, "missing or not unique");
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
  return Verifier(size, read).run();
}

}  // namespace waybill::xlsx
