#include "app/cli/endpoint.h"

#include <boost/json.hpp>
#include <cstdlib>
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

std::string demo_url(const std::string& folder) {
  boost::system::error_code error;
  const auto described =
      boost::json::parse(read_small(folder + "/" + demo::kDescriptionFile), error);
  if (error || !described.is_object()) return {};
  const auto* url = described.as_object().if_contains("url");
  return url != nullptr && url->is_string() ? std::string(url->as_string()) : std::string();
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::string default_data_folder(const Environment& environment) {
  if (const auto data = environment("XDG_DATA_HOME")) return *data + "/waybill";
  if (const auto home = environment("HOME")) return *home + "/.local/share/waybill";
  return {};
}

base::Result<Endpoint> find_endpoint(const Arguments& arguments, const Environment& environment) {
  Endpoint endpoint;
  endpoint.url = arguments.url.empty() ? environment("WAYBILL_URL").value_or("") : arguments.url;
  endpoint.token =
      arguments.token.empty() ? environment("WAYBILL_TOKEN").value_or("") : arguments.token;
  const auto data = environment("WAYBILL_DATA");
  const std::string folder = data ? *data : default_data_folder(environment);
  // A demo's token is for that demo: with another server's address it is not sent.
  const std::string demo = folder.empty() ? std::string() : demo_url(folder);
  if (endpoint.url.empty()) endpoint.url = demo;
  if (endpoint.url.empty()) {
    return base::invalid(
        "url", data ? "no demo has run in " + *data + ": give --url or WAYBILL_URL"
                    : "no server is known: start waybill demo, or give --url or WAYBILL_URL");
  }
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  if (endpoint.token.empty() && endpoint.url == demo) {
    endpoint.token = read_small(folder + "/tokens/" + demo::kDefaultUser + ".jwt");
  }
  return endpoint;
}

}  // namespace waybill::app::cli
