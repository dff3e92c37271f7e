// Which server the command line talks to, and as whom.

#ifndef WAYBILL_APP_CLI_ENDPOINT_H_
#define WAYBILL_APP_CLI_ENDPOINT_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "app/cli/arguments.h"
#include "base/result.h"

namespace waybill::app::cli {

struct Endpoint {
  std::string url;    // without a slash at the end
  std::string token;  // empty = none
};

// A variable's value; nullopt when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// $XDG_DATA_HOME/waybill, else ~/.local/share/waybill; empty without a home.
std::string default_data_folder(const Environment& environment);

// An address for a message: what may stand before its host as user and password is masked.
std::string without_password(std::string_view url);

// Each of url and token: the option, WAYBILL_URL / WAYBILL_TOKEN, the demo in WAYBILL_DATA, the
// demo in the default folder. kInvalid, saying what to do, when no url is found.
base::Result<Endpoint> find_endpoint(const Arguments& arguments, const Environment& environment);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_ENDPOINT_H_
