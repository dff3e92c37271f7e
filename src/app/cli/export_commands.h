// waybill export ...

#ifndef WAYBILL_APP_CLI_EXPORT_COMMANDS_H_
#define WAYBILL_APP_CLI_EXPORT_COMMANDS_H_

#include <string>

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "app/cli/endpoint.h"
#include "base/result.h"

namespace waybill::app::cli {

// Returns the exit code; everything has been printed.
int run_export_command(const Arguments& arguments, const Environment& environment,
                       Console& console);

// The request body of a create. kInvalid (a usage error) for --params that is no object or a
// parameter given twice.
base::Result<std::string> create_body(const Arguments& arguments);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_EXPORT_COMMANDS_H_
