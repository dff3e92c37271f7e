// A strict reader for the YAML of a registry: one document of maps, lists and scalars, with line
// numbers. Refused, because they hide mistakes or cost without bound: anchors and aliases, tags,
// duplicate keys, tabs, deep nesting, text that is not UTF-8, and a last line without a line break
// (a file that was cut while being written).

#ifndef WAYBILL_REGISTRY_YAML_TREE_H_
#define WAYBILL_REGISTRY_YAML_TREE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace waybill::registry {

inline constexpr int kMaxYamlDepth = 12;               // maps and lists inside each other
inline constexpr std::size_t kMaxYamlNodes = 400'000;  // of one file

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Field;
  Kind kind = Kind::kNull;
  int line = 1;
  bool plain = false;  // a scalar without quotes: only such a one is a number or a truth value
  std::string text;    // of a scalar
  std::vector<YamlNode> items;
  std::vector<Field> fields;  // in the file's order; keys are unique

  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};
struct YamlNode::Field {
  std::string key;
  int line = 1;
  YamlNode value;
};

// kInvalid: "NAME:LINE: reason".
base::Result<YamlNode> parse_yaml(std::string_view text, const std::string& name);

}  // namespace waybill::registry

#endif  // WAYBILL_REGISTRY_YAML_TREE_H_
