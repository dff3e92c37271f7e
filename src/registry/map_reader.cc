#include "registry/map_reader.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace waybill::registry {

namespace {

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return "\"" + base::printable(node.text, 80) + "\"";
}

std::optional<double> parse_number(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || !node.plain) return std::nullopt;
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string decimal(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : std::string("?");
}

}  // namespace

base::Error rule_error(const std::string& name, int line, const std::string& path,
                       std::string_view rule) {
  const std::string place = name + ":" + std::to_string(line) + ": ";
  return base::invalid(path, place + (path.empty() ? "" : path + ": ") + std::string(rule));
}

MapReader::MapReader(const YamlNode& node, const std::string& name, std::string path)
    : node_(node), name_(name), path_(std::move(path)) {
  if (node_.kind != YamlNode::Kind::kMap) fail("", "must be a map, is " + shown(node_));
}

std::string MapReader::path(std::string_view key) const {
  if (key.empty()) return path_;
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void MapReader::fail(std::string_view key, std::string_view rule) {
  if (error_) return;
  int line = node_.line;
  for (const auto& field : node_.fields) {
    if (field.key == key) line = field.line;
  }
  error_ = rule_error(name_, line, path(key), rule);
}

void MapReader::fail(base::Error error) {
  if (!error_) error_ = std::move(error);
}

const YamlNode* MapReader::get(std::string_view key, bool required) {
  known_.emplace(key);
  const YamlNode* found = node_.find(key);
  if (found == nullptr && required) fail(key, "is missing");
  return found;
}

void MapReader::text(std::string_view key, std::string& out, bool required) {
  const YamlNode* found = get(key, required);
  if (found == nullptr) return;
  if (found->kind != YamlNode::Kind::kScalar || found->text.empty()) {
    fail(key, "must be a text, is " + shown(*found));
    return;
  }
  out = found->text;
}

void MapReader::boolean(std::string_view key, bool& out) {
  const YamlNode* found = get(key);
  if (found == nullptr) return;
  if (found->plain && (found->text == "true" || found->text == "false")) {
    out = found->text == "true";
  } else {
    fail(key, "must be true or false, is " + shown(*found));
  }
}

void MapReader::integer(std::string_view key, std::int64_t& out, std::int64_t least,
                        std::int64_t most) {
  const YamlNode* found = get(key);
  if (found == nullptr) return;
  const auto value = found->plain ? base::parse_int(found->text) : std::nullopt;
  if (!value || *value < least || *value > most) {
    fail(key, "must be a whole number from " + std::to_string(least) + " to " +
                  std::to_string(most) + ", is " + shown(*found));
    return;
  }
  out = *value;
}

void MapReader::number(std::string_view key, std::optional<double>& out, double least,
                       double most) {
  const YamlNode* found = get(key);
  if (found == nullptr) return;
  const auto value = parse_number(*found);
  if (!value || *value < least || *value > most) {
    fail(key, "must be a number from " + decimal(least) + " to " + decimal(most) + ", is " +
                  shown(*found));
    return;
  }
  out = *value;
}

base::Status MapReader::finish() {
  for (const auto& field : node_.fields) {
    if (!known_.contains(field.key)) fail(field.key, "is not a known key");
  }
  if (error_) return *std::move(error_);
  return {};
}

}  // namespace waybill::registry
