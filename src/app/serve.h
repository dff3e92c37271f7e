// waybill serve, migrate and config.

#ifndef WAYBILL_APP_SERVE_H_
#define WAYBILL_APP_SERVE_H_

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "app/cli/endpoint.h"
#include "app/cli/exit_code.h"
#include "base/error.h"

namespace waybill::app {

// Each returns the exit code; everything has been printed.
int run_serve(const cli::Arguments& arguments, const cli::Environment& environment,
              cli::Console& console);
int run_migrate(const cli::Arguments& arguments, const cli::Environment& environment,
                cli::Console& console);
int run_config(const cli::Arguments& arguments, const cli::Environment& environment,
               cli::Console& console);

// Why a server does not start: configuration errors are usage errors.
cli::ExitCode start_exit_code(const base::Error& error);

}  // namespace waybill::app

#endif  // WAYBILL_APP_SERVE_H_
