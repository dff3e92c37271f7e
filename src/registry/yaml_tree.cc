#include "registry/yaml_tree.h"

#include <yaml-cpp/yaml.h>

#include <yaml-cpp/eventhandler.h>

#include <exception>
#include <istream>
#include <streambuf>
#include <utility>

#include "base/text.h"
#include "registry/registry.h"

namespace waybill::registry {

namespace {

// Thrown inside this file only, to leave the parser's callbacks.
struct Refused {
  int line;
  std::string why;
};

// A stream over text that stays where it is.
class TextBuffer final : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin =
        const_cast<char*>(text.data());  // never written: no output functions are overridden
    setg(begin, begin, begin + text.size());
  }
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) refuse(mark, "more than one document");
  }
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases (*name) are not allowed");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark, 1); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(node(mark, YamlNode::Kind::kNull));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode scalar = node(mark, YamlNode::Kind::kScalar);
    scalar.plain = tag == "?";
    scalar.text = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

  YamlNode take() { return std::move(root_); }

 private:
  struct Open {
    YamlNode node;
    bool has_key = false;
    YamlNode::Field field;  // whose value comes next
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, std::string why) {
    throw Refused{mark.line + 1, std::move(why)};
  }
  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "anchors (&name) are not allowed");
  }
  // "?" is a plain scalar or collection, "!" a quoted scalar; everything else was written by
  // somebody.
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags (!name) are not allowed");
  }

  YamlNode node(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (++nodes_ > kMaxYamlNodes)
      refuse(mark, "more than " + std::to_string(kMaxYamlNodes) + " values");
    YamlNode made;
    made.kind = kind;
    made.line = mark.line + 1;
    return made;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (open_.size() >= static_cast<std::size_t>(kMaxYamlDepth)) {
      refuse(mark, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
    open_.push_back({node(mark, kind), false, {}});
  }

  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(YamlNode value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(value));
    } else if (parent.has_key) {
      parent.field.value = std::move(value);
      parent.node.fields.push_back(std::move(parent.field));
      parent.has_key = false;
    } else {
      set_key(parent, value);
    }
  }

  static void set_key(Open& parent, const YamlNode& key) {
    if (key.kind != YamlNode::Kind::kScalar) throw Refused{key.line, "a key must be a word"};
    for (const YamlNode::Field& earlier : parent.node.fields) {
      if (earlier.key != key.text) continue;
      throw Refused{key.line, "\"" + base::printable(key.text, 64) +
                                  "\" appears twice, first in line " +
                                  std::to_string(earlier.line)};
    }
    // Looking for duplicates is quadratic; a map of this file has a few thousand keys at most.
    if (parent.node.fields.size() >= kMaxRegistryEntries) {
      throw Refused{key.line,
                    "more than " + std::to_string(kMaxRegistryEntries) + " keys in one map"};
    }
    parent.field = {key.text, key.line, {}};
    parent.has_key = true;
  }

  std::vector<Open> open_;
  YamlNode root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

base::Error at(const std::string& name, int line, std::string_view why) {
  return base::invalid("", name + ":" + std::to_string(line) + ": " + std::string(why));
}

// What the parser would accept or stumble over silently.
base::Status check_text(std::string_view text, const std::string& name) {
  if (text.size() > kMaxRegistryBytes) {
    return base::over_limit(
        "", static_cast<std::int64_t>(kMaxRegistryBytes), "bytes",
        static_cast<std::int64_t>(text.size()),
        name + " is larger than " + std::to_string(kMaxRegistryBytes) + " bytes");
  }
  if (base::trim(text).empty()) return base::invalid("", name + " is empty");
  int line = 1;
  std::size_t values = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // The parser keeps every token of a list in memory before it hands one out.
    if ((c == '[' || c == '{' || c == ',') && ++values > kMaxYamlNodes) {
      return at(name, line, "more than " + std::to_string(kMaxYamlNodes) + " values");
    }
    if (c == '\n') {
      ++line;
    } else if (c == '\t') {
      return at(name, line, "a tab; use blanks");
    } else if ((c < 0x20 && c != '\r') || c == 0x7F) {
      return at(name, line, "a control character");
    } else if (c >= 0x80) {
      const std::size_t size = base::utf8_sequence(text.substr(i));
      if (size == 0) return at(name, line, "not UTF-8");
      i += size - 1;
    }
  }
  if (text.back() != '\n')
    return at(name, line, "the last line has no line break: is the file cut off?");
  return {};
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const Field& field : fields) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

base::Result<YamlNode> parse_yaml(std::string_view text, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  WAYBILL_TRY(check_text(text, name));
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    TreeBuilder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Refused& refused) {
    return at(name, refused.line, refused.why);
  } catch (const YAML::Exception& error) {
    return at(name, error.mark.line + 1, base::printable(error.msg, 200));
  } catch (const std::exception& error) {
    return base::invalid("", name + ": " + base::printable(error.what(), 200));
  }
}

}  // namespace waybill::registry
