// The only file that knows yaml-cpp.

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "app/config.h"
#include "base/text.h"

namespace waybill::app {
namespace {

class Reader {
 public:
  Reader(std::string name, std::vector<std::string>& problems)
      : name_(std::move(name)), problems_(problems) {}

  void section(const YAML::Node& node, const std::string& path) {
    if (!node.IsMap()) {
      problem(node, path, "must be a section with keys");
      return;
    }
    std::set<std::string> seen;
    for (const auto& child : node) {
      if (problems_.size() >= kMaxProblems) return;
      if (!child.first.IsScalar()) {
        problem(child.first, path, "has a key that is not a word");
        continue;
      }
      const std::string key = child.first.Scalar();
      const std::string full = path.empty() ? key : path + "." + key;
      if (!seen.insert(key).second) {
        problem(child.first, full, "is given twice");
      } else {
        entry(child.first, child.second, full, key);
      }
    }
  }

  std::vector<RawValue> take() { return std::move(values_); }

 private:
  static constexpr std::size_t kMaxProblems = 20;

  void entry(const YAML::Node& key_node, const YAML::Node& node, const std::string& path,
             const std::string& key) {
    // A key with a dot would look like a path of another section.
    const bool plain = key.find('.') == std::string::npos;
    if (plain && find_key(path) != nullptr) {
      leaf(key_node, node, path);
    } else if (plain && is_section(path)) {
      section(node, path);
    } else {
      const std::string near = nearest_key(path);
      problem(key_node, path,
              near.empty() ? "unknown key" : "unknown key (did you mean " + near + "?)");
    }
  }

  void leaf(const YAML::Node& key_node, const YAML::Node& node, const std::string& path) {
    RawValue value;
    value.path = path;
    value.where = where(key_node);
    if (node.IsScalar()) {
      value.items.push_back(node.Scalar());
      value.quoted = node.Tag() == "!";
    } else if (node.IsSequence()) {
      value.is_list = true;
      for (const YAML::Node& item : node) {
        if (!item.IsScalar() || value.items.size() >= kMaxListItems) {
          problem(item, path,
                  item.IsScalar() ? "has too many items" : "must be a list of single values");
          return;
        }
        value.quoted = value.quoted || item.Tag() == "!";
        value.items.push_back(item.Scalar());
      }
    } else {
      problem(key_node, path, node.IsNull() ? "has no value" : "must be a value, not a section");
      return;
    }
    values_.push_back(std::move(value));
  }

  [[nodiscard]] std::string where(const YAML::Node& node) const {
    return name_ + ":" + std::to_string(node.Mark().line + 1);
  }
  void problem(const YAML::Node& node, const std::string& path, const std::string& what) {
    const std::string key = path.empty() ? "the file" : base::printable(path, 200);
    problems_.push_back(where(node) + ": " + key + ": " + what);
  }

  std::string name_;
  std::vector<std::string>& problems_;
  std::vector<RawValue> values_;
};

}  // namespace

std::vector<RawValue> read_yaml(std::string_view text, const std::string& name,
                                std::vector<std::string>& problems) {
  if (text.size() > kMaxConfigBytes) {
    problems.push_back(name + ": is larger than " + std::to_string(kMaxConfigBytes) + " bytes");
    return {};
  }
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (root.IsNull()) return {};
    Reader reader(name, problems);
    reader.section(root, "");
    return reader.take();
  } catch (const YAML::Exception& e) {
    problems.push_back(name + ": is not valid YAML: line " + std::to_string(e.mark.line + 1) +
                       ", column " + std::to_string(e.mark.column + 1) + ": " +
                       base::printable(e.msg, 200));
  } catch (const std::exception& e) {
    problems.push_back(name + ": is not valid YAML: " + base::printable(e.what(), 200));
  }
  return {};
}

}  // namespace waybill::app
