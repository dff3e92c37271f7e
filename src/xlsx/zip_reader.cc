#include "xlsx/zip_reader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "xlsx/deflater.h"
#include "xlsx/zip_format.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kMaxCommentBytes = 65'535;
constexpr std::size_t kInputBytes = 64u << 10;
constexpr std::uint16_t kFlagEncrypted = 0x0001;
constexpr std::uint16_t kFlagStrongEncryption = 0x0040;
constexpr std::uint16_t kFlagMasked = 0x2000;

base::Error damaged(std::string_view why) { return base::invalid("file", std::string(why)); }
base::Error too_many(std::string_view field, std::uint64_t limit, std::string_view unit,
                     std::uint64_t actual) {
  return base::over_limit(std::string(field), static_cast<std::int64_t>(limit), std::string(unit),
                          static_cast<std::int64_t>(actual), "too many parts");
}

bool is_marker(std::uint64_t value) { return value == zip::kMax32; }

// Takes the values that did not fit their 32-bit fields, in the order that the format fixes. Sets
// `found` when the field is there. False for a damaged field or one that is too short.
bool read_zip64(std::string_view extra, std::initializer_list<std::uint64_t*> values, bool& found) {
  std::string_view wide;
  found = false;
  while (extra.size() >= 4) {
    const std::size_t size = zip::get16(extra, 2);
    if (size > extra.size() - 4) return false;
    if (zip::get16(extra, 0) == zip::kExtraZip64) {
      if (found) return false;
      found = true;
      wide = extra.substr(4, size);
    }
    extra.remove_prefix(4 + size);
  }
  for (std::uint64_t* value : values) {
    if (!is_marker(*value)) continue;
    if (wide.size() < 8) return false;
    *value = zip::get64(wide, 0);
    wide.remove_prefix(8);
  }
  return true;
}

// Slashes only. Nothing that a file system could take for a place outside a folder.
bool legal_name(std::string& name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string::npos) return false;
  if (name.size() > 1 && name[1] == ':') return false;
  for (const std::string_view step : base::split(name, '/')) {
    if (step == ".." || step == ".") return false;
  }
  return name.find("//") == std::string::npos;
}

}  // namespace

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

base::Error damaged_part(std::string_view name, std::string_view why) {
  return damaged("part " + base::printable(name, 100) + ": " + std::string(why));
}

bool ZipPart::streamed() const { return (flags & zip::kFlagDescriptor) != 0; }

// Where the central directory lies.
struct ZipReader::Directory {
  std::uint64_t parts = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t end = 0;  // first byte of the end records
};

base::Result<ZipReader> ZipReader::open(ByteSource source) {
  ZipReader zip(std::move(source));
  WAYBILL_ASSIGN(const Directory directory, zip.find_directory());
  zip.directory_offset_ = directory.offset;
  WAYBILL_TRY(zip.read_directory(directory));
  std::sort(zip.parts_.begin(), zip.parts_.end(),
            [](const ZipPart& a, const ZipPart& b) { return a.offset < b.offset; });
  for (ZipPart& part : zip.parts_) WAYBILL_TRY(zip.read_local_header(part));
  WAYBILL_TRY(zip.check_places());
  WAYBILL_TRY(zip.index_names());
  return zip;
}

// The end record is the last one whose comment reaches exactly to the end of the file.
base::Result<ZipReader::Directory> ZipReader::find_directory() {
  if (source_.size() < zip::kEndBytes) return damaged("it is too short");
  const std::uint64_t tail_bytes =
      std::min<std::uint64_t>(source_.size(), zip::kEndBytes + kMaxCommentBytes);
  const std::uint64_t tail_offset = source_.size() - tail_bytes;
  std::string end;
  std::uint64_t at = 0;
  {
    WAYBILL_ASSIGN(const std::string tail, source_.text(tail_offset, tail_bytes));
    std::size_t place = tail.size() - zip::kEndBytes + 1;
    do {
      if (place == 0) return damaged("no end record");
      --place;
    } while (zip::get32(tail, place) != zip::kEndSignature ||
             zip::get16(tail, place + 20) != tail.size() - place - zip::kEndBytes);
    end = tail.substr(place, zip::kEndBytes);
    at = tail_offset + place;
    comment_bytes_ = tail.size() - place - zip::kEndBytes;
  }
  if (zip::get16(end, 4) != 0 || zip::get16(end, 6) != 0 ||
      zip::get16(end, 8) != zip::get16(end, 10))
    return damaged("a split archive");
  Directory directory{zip::get16(end, 10), zip::get32(end, 16), zip::get32(end, 12), at};
  if (directory.parts == zip::kMax16 || is_marker(directory.size) || is_marker(directory.offset))
    WAYBILL_TRY(read_end64(directory, at));
  if (directory.parts > kMaxZipParts)
    return too_many("parts", kMaxZipParts, "parts", directory.parts);
  if (directory.size > kMaxDirectoryBytes)
    return too_many("directory_bytes", kMaxDirectoryBytes, "bytes", directory.size);
  if (directory.offset > directory.end || directory.size != directory.end - directory.offset)
    return damaged("the directory does not end at the end record");
  return directory;
}

base::Status ZipReader::read_end64(Directory& directory, std::uint64_t end_offset) const {
  constexpr std::uint64_t kBoth = zip::kEnd64Bytes + zip::kLocator64Bytes;
  if (end_offset < kBoth) return damaged("no ZIP64 end record");
  const std::uint64_t at = end_offset - kBoth;
  WAYBILL_ASSIGN(const std::string end, source_.text(at, kBoth));
  if (zip::get32(end, 0) != zip::kEnd64Signature || zip::get64(end, 4) != zip::kEnd64Bytes - 12 ||
      zip::get32(end, zip::kEnd64Bytes) != zip::kLocator64Signature ||
      zip::get64(end, zip::kEnd64Bytes + 8) != at || zip::get64(end, 24) != zip::get64(end, 32)) {
    return damaged("no ZIP64 end record");
  }
  const Directory wide{zip::get64(end, 32), zip::get64(end, 48), zip::get64(end, 40), at};
  // A short field may only say what the wide one says, or nothing.
  if ((directory.parts != zip::kMax16 && directory.parts != wide.parts) ||
      (!is_marker(directory.size) && directory.size != wide.size) ||
      (!is_marker(directory.offset) && directory.offset != wide.offset)) {
    return damaged("the two end records disagree");
  }
  directory = wide;
  return {};
}

base::Status ZipReader::read_directory(const Directory& directory) {
  WAYBILL_ASSIGN(const std::string text, source_.text(directory.offset, directory.size));
  std::size_t at = 0;
  while (at < text.size()) {
    if (parts_.size() == directory.parts || text.size() - at < zip::kCentralBytes ||
        zip::get32(text, at) != zip::kCentralSignature) {
      return damaged("the directory is damaged");
    }
    ZipPart part;
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
    const bool split = zip::get16(text, at + 34) != 0;
    at += zip::kCentralBytes;
    if (split || name == 0 || name > kMaxPartNameBytes ||
        name + extra + comment > text.size() - at) {
      return damaged("the directory is damaged");
    }
    part.name = text.substr(at, name);
    bool found = false;
    if (!read_zip64(std::string_view(text).substr(at + name, extra),
                    {&part.size, &part.packed, &part.offset}, found))
      return damaged_part(part.name, "no ZIP64 sizes");
    at += name + extra + comment;
    parts_.push_back(std::move(part));
  }
  if (parts_.size() != directory.parts)
    return damaged("the directory does not hold as many parts as it says");
  return {};
}

base::Status ZipReader::read_local_header(ZipPart& part) const {
  const auto disagree = [&part] {
    return damaged_part(part.name, "local header and directory disagree");
  };
  if ((part.flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMasked)) != 0) {
    base::Error error = damaged_part(part.name, "it is encrypted");
    error.code = "XLSX_ENCRYPTED";
    return error;
  }
  if (part.method != zip::kMethodDeflate && part.method != zip::kMethodStored)
    return damaged_part(part.name, "unknown compression method");
  if (part.method == zip::kMethodStored && part.packed != part.size)
    return damaged_part(part.name, "a stored part without its real sizes");
  if (part.offset > directory_offset_ || directory_offset_ - part.offset < zip::kLocalBytes)
    return damaged_part(part.name, "it runs past the end");
  WAYBILL_ASSIGN(const std::string header, source_.text(part.offset, zip::kLocalBytes));
  const std::size_t name = zip::get16(header, 26);
  const std::size_t extra = zip::get16(header, 28);
  if (zip::get32(header, 0) != zip::kLocalSignature || zip::get16(header, 6) != part.flags ||
      zip::get16(header, 8) != part.method || name != part.name.size())
    return disagree();
  part.local_version = zip::get16(header, 4);
  part.content = part.offset + zip::kLocalBytes + name + extra;
  if (part.content > directory_offset_ || part.packed > directory_offset_ - part.content)
    return damaged_part(part.name, "it runs past the end");
  WAYBILL_ASSIGN(const std::string rest,
                 source_.text(part.offset + zip::kLocalBytes, name + extra));
  if (rest.substr(0, name) != part.name) return disagree();
  std::uint64_t packed = zip::get32(header, 18);
  std::uint64_t size = zip::get32(header, 22);
  if (!read_zip64(std::string_view(rest).substr(name), {&size, &packed}, part.local_zip64) &&
      !(part.streamed() && is_marker(packed) && is_marker(size))) {
    return disagree();
  }
  // A streamed part may leave its fields empty, but not lie in them.
  const bool empty = part.streamed() && zip::get32(header, 14) == 0 &&
                     (packed == 0 || is_marker(packed)) && (size == 0 || is_marker(size));
  if (!empty && (zip::get32(header, 14) != part.crc || packed != part.packed || size != part.size))
    return disagree();
  if (!legal_name(part.name)) return damaged_part(part.name, "a name that leaves the package");
  return {};
}

base::Status ZipReader::check_places() const {
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    if (parts_[i].offset < parts_[i - 1].end())
      return damaged_part(parts_[i].name, "it overlaps another part");
  }
  return {};
}

base::Status ZipReader::index_names() {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    by_name_.emplace_back(lower_ascii(parts_[i].name), i);
  std::sort(by_name_.begin(), by_name_.end());
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    if (by_name_[i].first == by_name_[i - 1].first)
      return damaged_part(by_name_[i].first, "it exists twice");
  }
  return {};
}

const ZipPart* ZipReader::find(std::string_view name) const {
  const std::string wanted = lower_ascii(name);
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), wanted,
      [](const auto& entry, const std::string& text) { return entry.first < text; });
  return found != by_name_.end() && found->first == wanted ? &parts_[found->second] : nullptr;
}

PartReader::PartReader(const ZipReader& zip, const ZipPart& part, InflateBudget& budget)
    : source_(zip.source()), part_(part), budget_(budget), at_(part.content), left_(part.packed) {
  if (part.method == zip::kMethodDeflate) {
    inflater_ = std::make_unique<Inflater>();
    input_.resize(kInputBytes);
  }
}

base::Result<std::size_t> PartReader::read(std::span<char> out) {
  WAYBILL_ASSIGN(const std::size_t got, produce(out));
  if (got > 0) {
    WAYBILL_TRY(take({out.data(), got}));
    return got;
  }
  if (inflated_ != part_.size || crc_ != part_.crc)
    return damaged_part(part_.name, "size or checksum differ");
  return 0;
}

base::Result<std::size_t> PartReader::produce(std::span<char> out) {
  if (inflater_ == nullptr) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(left_, out.size()));
    WAYBILL_TRY(source_.read(at_, out.first(step)));
    at_ += step;
    left_ -= step;
    return step;
  }
  for (;;) {
    const std::optional<std::size_t> got = inflater_->next(out);
    if (!got) return damaged_part(part_.name, "damaged compressed data");
    if (*got > 0) return *got;
    if (inflater_->done()) {
      if (left_ > 0 || inflater_->unused() > 0)
        return damaged_part(part_.name, "bytes after its end");
      return 0;
    }
    if (left_ == 0) return damaged_part(part_.name, "it ends too early");
    WAYBILL_TRY(fill());
  }
}

base::Status PartReader::fill() {
  const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input_.size()));
  WAYBILL_TRY(source_.read(at_, {input_.data(), step}));
  at_ += step;
  left_ -= step;
  inflater_->feed({input_.data(), step});
  return {};
}

// Counts what was truly inflated: sizes in headers are claims.
base::Status PartReader::take(std::string_view piece) {
  if (piece.size() > part_.size - inflated_)
    return damaged_part(part_.name, "it is larger than its records say");
  inflated_ += piece.size();
  budget_.used += piece.size();
  const auto over = [this](std::string_view field, std::uint64_t limit, std::uint64_t actual) {
    return base::over_limit(std::string(field), static_cast<std::int64_t>(limit), "bytes",
                            static_cast<std::int64_t>(actual),
                            "part " + base::printable(part_.name, 100) +
                                ": it unpacks to more than " + std::to_string(limit) + " bytes" +
                                (field == "total_bytes" ? " together with the parts before" : ""));
  };
  if (inflated_ > budget_.part_bytes) return over("part_bytes", budget_.part_bytes, inflated_);
  if (budget_.used > budget_.total_bytes)
    return over("total_bytes", budget_.total_bytes, budget_.used);
  crc_ = crc32(crc_, piece);
  return {};
}

}  // namespace waybill::xlsx
