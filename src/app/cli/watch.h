// Follows one task until it ends.

#ifndef WAYBILL_APP_CLI_WATCH_H_
#define WAYBILL_APP_CLI_WATCH_H_

#include <functional>
#include <string>
#include <variant>

#include "app/cli/api_caller.h"
#include "app/cli/console.h"
#include "app/cli/task_view.h"

namespace waybill::app::cli {

struct WatchOptions {
  bool json = false;                 // one line per change to stdout
  base::Millis timeout_ms = 30'000;  // a server that is away longer than this ends the watching
  std::function<bool()> stop;
};

// The task as it ended; with `json` its last line has been printed. A Failure of kInterrupted says
// that it goes on.
std::variant<TaskView, Failure> watch_task(ApiCaller& api, const std::string& id,
                                           const WatchOptions& options, Console& console);

// From now on Ctrl-C and SIGTERM set a flag instead of ending the process; returns a function that
// reads it.
std::function<bool()> catch_interrupts();

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_WATCH_H_
