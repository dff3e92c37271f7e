// XML parts as events, by Expat, with everything refused that OOXML has no use for: DTDs (and with
// them entities of any kind), encodings that Expat itself does not decode, deep nesting, tokens
// that would need much memory. Expat's memory is counted and capped.

#ifndef WAYBILL_XLSX_XML_PARSER_H_
#define WAYBILL_XLSX_XML_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {

inline constexpr std::size_t kMaxXmlMemoryBytes = 3u << 20;  // of one parser
inline constexpr int kMaxXmlDepth = 256;                     // open elements

// The attributes of a start tag. A view, valid inside the call.
class XmlAttributes {
 public:
  explicit XmlAttributes(const char** list) : list_(list) {}
  // The value of an attribute without prefix, nullptr where there is none.
  [[nodiscard]] const char* find(std::string_view name) const;
  // The value of an attribute with any prefix, such as r:id.
  [[nodiscard]] const char* find_prefixed(std::string_view name) const;
  // Name, value, name, value, ..., nullptr. For hot code.
  [[nodiscard]] const char** raw() const { return list_; }

 private:
  const char** list_;
};

// Receives the events of one part. `name` has no prefix, and is empty for an element whose prefix
// is not that of the root element: such an element belongs to an extension. An error that start()
// or end() or text() returns ends the parsing with it.
class XmlEvents {
 public:
  virtual ~XmlEvents() = default;
  virtual base::Status start(std::string_view name, const XmlAttributes& attributes) = 0;
  virtual base::Status end() = 0;
  // Any number of pieces.
  virtual base::Status text(std::string_view piece) = 0;
};

// Not thread-safe; part and events must outlive it, and it stays on one thread.
class XmlParser {
 public:
  XmlParser(PartReader& part, XmlEvents& events);
  ~XmlParser();
  XmlParser(const XmlParser&) = delete;
  XmlParser& operator=(const XmlParser&) = delete;

  // Parses until an event asks to pause() (true) or to the end of the part (false). Errors:
  // kInvalid ("part NAME: why"), those of the part and of the events; final.
  base::Result<bool> advance();
  // Inside an event: advance() returns behind it.
  void pause();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Parses a whole part.
base::Status parse_xml(const ZipReader& zip, const ZipPart& part, InflateBudget& budget,
                       XmlEvents& events);

// xsd:boolean: 1 or true, blanks around it do not matter.
bool is_true(const char* value);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_XML_PARSER_H_
