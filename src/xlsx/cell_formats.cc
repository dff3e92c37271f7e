#include "xlsx/cell_formats.h"

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "xlsx/xml_parser.h"

namespace waybill::xlsx {
namespace {

constexpr std::uint32_t kNoFormat = 0xFFFF'FFFF;

std::uint32_t format_id(const char* text) {
  if (text == nullptr) return 0;
  const std::optional<std::int64_t> id = base::parse_int(base::trim(text));
  return id && *id >= 0 && *id < kNoFormat ? static_cast<std::uint32_t>(*id) : kNoFormat;
}

base::Error too_many(const char* field, std::size_t limit, const char* what) {
  return base::over_limit(field, static_cast<std::int64_t>(limit), what,
                          static_cast<std::int64_t>(limit) + 1,
                          std::string("the workbook has too many ") + what);
}

// styleSheet > (numFmts > numFmt | cellXfs > xf); the two may come in either order.
class StyleEvents final : public XmlEvents {
 public:
  explicit StyleEvents(const std::string& part) : part_(part) {}

  base::Status start(std::string_view name, const XmlAttributes& attributes) override {
    ++depth_;
    if (depth_ == 1 && name != "styleSheet") return damaged_part(part_, "it is no style sheet");
    if (depth_ == 2) {
      formats_ = name == "numFmts";
      cells_ = name == "cellXfs";
    }
    if (depth_ != 3) return {};
    if (formats_ && name == "numFmt") return add_format(attributes);
    if (cells_ && name == "xf") {
      if (ids_.size() == kMaxCellFormats)
        return too_many("cell_formats", kMaxCellFormats, "cell formats");
      ids_.push_back(format_id(attributes.find("numFmtId")));
    }
    return {};
  }
  base::Status end() override {
    --depth_;
    return {};
  }
  base::Status text(std::string_view) override { return {}; }

  [[nodiscard]] std::vector<NumberClass> classes() const {
    std::vector<NumberClass> out;
    out.reserve(ids_.size());
    for (const std::uint32_t id : ids_) {
      const auto own = own_.find(id);
      out.push_back(own != own_.end() ? own->second : builtin_format(id));
    }
    return out;
  }

 private:
  base::Status add_format(const XmlAttributes& attributes) {
    const char* code = attributes.find("formatCode");
    const char* id = attributes.find("numFmtId");
    if (code == nullptr || id == nullptr) return {};
    if (own_.size() == kMaxNumberFormats)
      return too_many("number_formats", kMaxNumberFormats, "number formats");
    own_[format_id(id)] = classify_format(code);
    return {};
  }

  const std::string& part_;
  int depth_ = 0;
  bool formats_ = false;
  bool cells_ = false;
  std::vector<std::uint32_t> ids_;
  std::unordered_map<std::uint32_t, NumberClass> own_;
};

}  // namespace

base::Result<CellFormats> CellFormats::read(const ZipReader& zip, const ZipPart& part,
                                            InflateBudget& budget) {
  StyleEvents events(part.name);
  WAYBILL_TRY(parse_xml(zip, part, budget, events));
  CellFormats formats;
  formats.classes_ = events.classes();
  return formats;
}

}  // namespace waybill::xlsx
