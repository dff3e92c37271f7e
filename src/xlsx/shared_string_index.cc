#include "xlsx/shared_string_index.h"

#include <cstring>

#include "xlsx/rich_text.h"
#include "xlsx/xml_parser.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kPlaceBytes = sizeof(std::uint64_t);

std::uint64_t place(std::string_view bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), kPlaceBytes);
  return value;
}

}  // namespace

// sst > si > (t | r > t | rPh)
class SharedStringIndex::Events final : public XmlEvents {
 public:
  Events(SharedStringIndex& index, const std::string& part) : index_(index), part_(part) {}

  base::Status start(std::string_view name, const XmlAttributes&) override {
    ++depth_;
    if (depth_ == 1 && name != "sst") return damaged_part(part_, "it is no string table");
    if (depth_ == 2) {
      in_item_ = name == "si";
      rich_.begin();
    } else if (in_item_) {
      rich_.start(name);
    }
    return {};
  }
  base::Status end() override {
    --depth_;
    if (!in_item_) return {};
    if (!rich_.at_top()) {
      rich_.end();
      return {};
    }
    in_item_ = false;
    return index_.add(rich_.value());
  }
  base::Status text(std::string_view piece) override {
    return in_item_ ? rich_.text(piece) : base::Status();
  }

 private:
  SharedStringIndex& index_;
  const std::string& part_;
  RichText rich_;
  int depth_ = 0;
  bool in_item_ = false;
};

SharedStringIndex::SharedStringIndex(std::uint64_t max_temp_bytes, const std::string& temp_folder)
    : texts_(kSharedTextMemoryBytes, max_temp_bytes, temp_folder),
      places_(kSharedPlaceMemoryBytes, (kMaxSharedStrings + 1) * kPlaceBytes, temp_folder) {}

base::Status SharedStringIndex::load(const ZipReader& zip, const ZipPart& part,
                                     InflateBudget& budget) {
  Events events(*this, part.name);
  WAYBILL_TRY(parse_xml(zip, part, budget, events));
  return add_place();
}

base::Status SharedStringIndex::add(std::string_view text) {
  if (count_ == kMaxSharedStrings) {
    return base::over_limit("shared_strings", static_cast<std::int64_t>(kMaxSharedStrings),
                            "strings", static_cast<std::int64_t>(count_ + 1),
                            "the file has too many shared strings");
  }
  WAYBILL_TRY(add_place());
  ++count_;
  return texts_.append(text);
}

base::Status SharedStringIndex::add_place() {
  const std::uint64_t at = texts_.size();
  char bytes[kPlaceBytes];
  std::memcpy(bytes, &at, kPlaceBytes);
  return places_.append({bytes, kPlaceBytes});
}

base::Result<std::string_view> SharedStringIndex::text(std::uint64_t index) {
  WAYBILL_ASSIGN(const std::string_view both, places_.read(index * kPlaceBytes, 2 * kPlaceBytes));
  const std::uint64_t from = place(both);
  const std::uint64_t to = place(both.substr(kPlaceBytes));
  return texts_.read(from, static_cast<std::size_t>(to - from));
}

}  // namespace waybill::xlsx
