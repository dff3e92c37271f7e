// Reads the fields of one map of a registry file. The first broken rule is kept and names file,
// line, path and rule; unknown keys are broken rules too.

#ifndef WAYBILL_REGISTRY_MAP_READER_H_
#define WAYBILL_REGISTRY_MAP_READER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "registry/yaml_tree.h"

namespace waybill::registry {

// "NAME:LINE: PATH: rule", with PATH as the error's field.
base::Error rule_error(const std::string& name, int line, const std::string& path,
                       std::string_view rule);

// Not thread-safe. `node` and `name` outlive it. Reading functions leave `out` alone where the key
// is absent.
class MapReader {
 public:
  // A node that is no map is the first broken rule.
  MapReader(const YamlNode& node, const std::string& name, std::string path);

  // The node of a key, or nullptr. Marks the key as known.
  const YamlNode* get(std::string_view key, bool required = false);
  // A scalar that is not empty, as text.
  void text(std::string_view key, std::string& out, bool required = false);
  // Plain true or false.
  void boolean(std::string_view key, bool& out);
  void integer(std::string_view key, std::int64_t& out, std::int64_t least, std::int64_t most);
  // A decimal number. `least` and `most` are checked with it.
  void number(std::string_view key, std::optional<double>& out, double least, double most);

  // Notes that `key` (empty: the map itself) breaks a rule, unless one was noted before.
  void fail(std::string_view key, std::string_view rule);
  void fail(base::Error error);
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] std::string path(std::string_view key) const;
  [[nodiscard]] const std::string& name() const { return name_; }

  // The first broken rule; refuses keys that nobody asked for.
  base::Status finish();

 private:
  const YamlNode& node_;
  const std::string& name_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
  std::optional<base::Error> error_;
};

}  // namespace waybill::registry

#endif  // WAYBILL_REGISTRY_MAP_READER_H_
