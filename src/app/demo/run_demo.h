// waybill demo: a complete Waybill with a business service of its own, in one folder, on loopback.

#ifndef WAYBILL_APP_DEMO_RUN_DEMO_H_
#define WAYBILL_APP_DEMO_RUN_DEMO_H_

#include <string>

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "app/cli/endpoint.h"

namespace waybill::app::demo {

// Prints "Waybill is ready: URL" to stdout once it accepts requests, and nothing else. Returns the
// exit code.
int run_demo(const cli::Arguments& arguments, const cli::Environment& environment,
             cli::Console& console);

// The demo's configuration file text: short timings, everything in `folder`.
std::string demo_config(const std::string& folder, int port, const std::string& provider_url);

}  // namespace waybill::app::demo

#endif  // WAYBILL_APP_DEMO_RUN_DEMO_H_
