#include "app/cli/endpoint.h"

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/demo/data_folder.h"
#include "base/text.h"

namespace waybill::app::cli {
namespace {

constexpr std::size_t kMaxDemoFileBytes = 64u << 10;

std::string read_small(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxDemoFileBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount() > 0 ? in.gcount() : 0));
  return std::string(base::trim(text));
}

// Empty where no demo has run.
base::Result<std::string> demo_url(const std::string& folder) {
  const std::string path = folder + "/" + demo::kDescriptionFile;
  const std::string text = read_small(path);
  std::error_code missing;
  if (text.empty() && !std::filesystem::exists(path, missing)) return std::string();
  boost::system::error_code error;
  const auto described = boost::json::parse(text, error);
  const auto* url =
      !error && described.is_object() ? described.as_object().if_contains("url") : nullptr;
  if (url == nullptr || !url->is_string()) {
    return base::invalid("url", base::printable(path, 300) +
                                    " is damaged or cannot be read: start waybill demo again, or "
                                    "give --url or WAYBILL_URL");
  }
  return std::string(url->as_string());
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    // Nothing in this process writes the environment.
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::string default_data_folder(const Environment& environment) {
  if (const auto data = environment("XDG_DATA_HOME")) return *data + "/waybill";
  if (const auto home = environment("HOME")) return *home + "/.local/share/waybill";
  return {};
}

std::string without_password(std::string_view text) {
  std::string out(text);
  const std::size_t scheme = out.find("://");
  if (scheme == std::string::npos) return out;
  const std::size_t begin = scheme + 3;
  const std::string_view authority =
      std::string_view(out).substr(begin, out.find_first_of("/?# ", begin) - begin);
  const std::size_t at = authority.rfind('@');
  return at == std::string_view::npos ? out : out.replace(begin, at, "********");
}

base::Result<Endpoint> find_endpoint(const Arguments& arguments, const Environment& environment) {
  Endpoint endpoint;
  endpoint.url = arguments.url.empty() ? environment("WAYBILL_URL").value_or("") : arguments.url;
  endpoint.token =
      arguments.token.empty() ? environment("WAYBILL_TOKEN").value_or("") : arguments.token;
  const auto data = environment("WAYBILL_DATA");
  const std::string folder = data ? *data : default_data_folder(environment);
  // A demo's token is for that demo: with another server's address it is not sent.
  const auto described =
      folder.empty() ? base::Result<std::string>(std::string()) : demo_url(folder);
  if (endpoint.url.empty() && !described.ok()) return described.error();
  const std::string demo = described.ok() ? *described : std::string();
  if (endpoint.url.empty()) endpoint.url = demo;
  if (endpoint.url.empty()) {
    return base::invalid(
        "url", data ? "no demo has run in " + *data + ": give --url or WAYBILL_URL"
                    : "no server is known: start waybill demo, or give --url or WAYBILL_URL; "
                      "WAYBILL_DATA=DIR finds a demo that was started with --data DIR");
  }
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  if (endpoint.token.empty() && endpoint.url == demo) {
    endpoint.token = read_small(folder + "/tokens/" + demo::kDefaultUser + ".jwt");
  }
  return endpoint;
}

}  // namespace waybill::app::cli
