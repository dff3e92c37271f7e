// The `parameters` of an export type: a subset of JSON Schema, written in YAML (docs/formats.md).

#ifndef WAYBILL_REGISTRY_PARAMETER_SCHEMA_H_
#define WAYBILL_REGISTRY_PARAMETER_SCHEMA_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "registry/registry.h"
#include "registry/yaml_tree.h"

namespace waybill::registry {

// kInvalid naming file, line, path and rule. An empty map means: no parameters at all.
base::Result<std::vector<Parameter>> read_parameter_schema(const YamlNode& node,
                                                           const std::string& name,
                                                           const std::string& path);

// Reads title: {zh: ..., en: ...}. Absent: both stay as they are, unless `required`.
class MapReader;
void read_title(MapReader& reader, std::string& zh, std::string& en, bool required);

}  // namespace waybill::registry

#endif  // WAYBILL_REGISTRY_PARAMETER_SCHEMA_H_
