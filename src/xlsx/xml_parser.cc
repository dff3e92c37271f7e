#include "xlsx/xml_parser.h"

#include <expat.h>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/text.h"

namespace waybill::xlsx {
namespace {

constexpr int kChunkBytes = 64 << 10;

// What the parser that is being called on this thread has allocated. Expat's allocation functions
// get no argument of ours.
thread_local std::size_t* allocated = nullptr;

// Every block has its size in front, so that freeing can count.
constexpr std::size_t kHeaderBytes = alignof(std::max_align_t);
static_assert(kHeaderBytes >= sizeof(std::size_t));

void* resize_block(void* block, std::size_t size) {
  char* from = block == nullptr ? nullptr : static_cast<char*>(block) - kHeaderBytes;
  std::size_t before = 0;
  if (from != nullptr) std::memcpy(&before, from, sizeof before);
  if (size > kMaxXmlMemoryBytes || *allocated - before > kMaxXmlMemoryBytes - size) return nullptr;
  char* to = static_cast<char*>(std::realloc(from, size + kHeaderBytes));
  if (to == nullptr) return nullptr;
  std::memcpy(to, &size, sizeof size);
  *allocated = *allocated - before + size;
  return to + kHeaderBytes;
}
void* new_block(std::size_t size) { return resize_block(nullptr, size); }
void free_block(void* block) {
  if (block == nullptr) return;
  char* from = static_cast<char*>(block) - kHeaderBytes;
  std::size_t size = 0;
  std::memcpy(&size, from, sizeof size);
  *allocated -= size;
  std::free(from);
}
constexpr XML_Memory_Handling_Suite kMemory{new_block, resize_block, free_block};

struct Counting {
  explicit Counting(std::size_t& count) : before(allocated) { allocated = &count; }
  ~Counting() { allocated = before; }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  std::size_t* before;
};

// With its colon; empty for a name without one.
std::string_view prefix_of(std::string_view name) { return name.substr(0, name.find(':') + 1); }

}  // namespace

struct XmlParser::State {
  State(PartReader& reader, XmlEvents& to) : part(reader), events(to) {
    const Counting counting(memory);
    parser = XML_ParserCreate_MM(nullptr, &kMemory, nullptr);
    WAYBILL_CHECK(parser != nullptr, "no memory for an XML parser");
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, on_start, on_end);
    XML_SetCharacterDataHandler(parser, on_text);
    XML_SetStartDoctypeDeclHandler(parser, on_doctype);
  }
  ~State() {
    const Counting counting(memory);
    XML_ParserFree(parser);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void took(base::Status&& status) {
    if (status.ok()) [[likely]]
      return;
    if (error.ok()) error = std::move(status);
    XML_StopParser(parser, XML_FALSE);
  }
  // Without its prefix; empty for a foreign element. A loop of its own, as names are a few
  // characters and there are millions of them.
  std::string_view local(const char* name) const {
    const char* end = name;
    const char* begin = name;
    for (; *end != '\0'; ++end) {
      if (*end == ':' && begin == name) begin = end + 1;
    }
    const auto prefix_bytes = static_cast<std::size_t>(begin - name);
    if (std::string_view(name, prefix_bytes) != prefix) return {};
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  static void XMLCALL on_start(void* data, const char* name, const char** attributes) {
    State& state = *static_cast<State*>(data);
    if (!state.error.ok()) return;
    if (state.depth == 0) state.prefix = prefix_of(name);
    if (++state.depth > kMaxXmlDepth) {
      state.took(damaged_part(state.part.part().name, "elements are nested too deeply"));
      return;
    }
    state.took(state.events.start(state.local(name), XmlAttributes(attributes)));
  }
  static void XMLCALL on_end(void* data, const char*) {
    State& state = *static_cast<State*>(data);
    if (!state.error.ok()) return;
    --state.depth;
    state.took(state.events.end());
  }
  static void XMLCALL on_text(void* data, const char* text, int size) {
    State& state = *static_cast<State*>(data);
    if (state.error.ok()) state.took(state.events.text({text, static_cast<std::size_t>(size)}));
  }
  static void XMLCALL on_doctype(void* data, const char*, const char*, const char*, int) {
    State& state = *static_cast<State*>(data);
    state.took(damaged_part(state.part.part().name, "a DOCTYPE is not allowed"));
  }

  base::Error why() const {
    const XML_Error code = XML_GetErrorCode(parser);
    if (code == XML_ERROR_NO_MEMORY)
      return damaged_part(part.part().name, "a tag or an attribute is too long");
    return damaged_part(part.part().name,
                        std::string("not well-formed XML: ") + XML_ErrorString(code) + " (line " +
                            std::to_string(XML_GetCurrentLineNumber(parser)) + ", column " +
                            std::to_string(XML_GetCurrentColumnNumber(parser) + 1) + ")");
  }

  PartReader& part;
  XmlEvents& events;
  XML_Parser parser = nullptr;
  std::size_t memory = 0;
  base::Status error;
  std::string prefix;  // of the root element, with its colon
  int depth = 0;
  bool paused = false;
  bool ended = false;
};

const char* XmlAttributes::find(std::string_view name) const {
  for (const char** at = list_; *at != nullptr; at += 2) {
    if (name == *at) return at[1];
  }
  return nullptr;
}

const char* XmlAttributes::find_prefixed(std::string_view name) const {
  for (const char** at = list_; *at != nullptr; at += 2) {
    const std::string_view full = *at;
    const std::size_t colon = full.find(':');
    if (colon != std::string_view::npos && full.substr(colon + 1) == name) return at[1];
  }
  return nullptr;
}

XmlParser::XmlParser(PartReader& part, XmlEvents& events)
    : state_(std::make_unique<State>(part, events)) {}
XmlParser::~XmlParser() = default;

void XmlParser::pause() {
  if (state_->error.ok()) XML_StopParser(state_->parser, XML_TRUE);
}

base::Result<bool> XmlParser::advance() {
  State& state = *state_;
  const Counting counting(state.memory);
  while (!state.ended) {
    if (!state.error.ok()) return state.error.error();
    XML_Status status = XML_STATUS_OK;
    if (state.paused) {
      state.paused = false;
      status = XML_ResumeParser(state.parser);
    } else {
      void* buffer = XML_GetBuffer(state.parser, kChunkBytes);
      if (buffer == nullptr) {
        state.error = state.why();
        continue;
      }
      auto got = state.part.read({static_cast<char*>(buffer), kChunkBytes});
      if (!got.ok()) {
        state.error = std::move(got).error();
        continue;
      }
      status = XML_ParseBuffer(state.parser, static_cast<int>(*got), *got == 0);
    }
    if (status == XML_STATUS_SUSPENDED) {
      state.paused = true;
      return true;
    }
    if (status == XML_STATUS_ERROR && state.error.ok()) state.error = state.why();
    XML_ParsingStatus now;
    XML_GetParsingStatus(state.parser, &now);
    state.ended = state.error.ok() && now.parsing == XML_FINISHED;
  }
  return false;
}

base::Status parse_xml(const ZipReader& zip, const ZipPart& part, InflateBudget& budget,
                       XmlEvents& events) {
  PartReader reader(zip, part, budget);
  XmlParser parser(reader, events);
  WAYBILL_ASSIGN(const bool paused, parser.advance());
  WAYBILL_CHECK(!paused, "these events never pause");
  return {};
}

bool is_true(const char* value) {
  if (value == nullptr) return false;
  const std::string_view text = base::trim(value);
  return text == "1" || text == "true";
}

}  // namespace waybill::xlsx
