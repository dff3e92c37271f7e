// waybill xlsx ...: workbooks at a shell, without a server.

#ifndef WAYBILL_APP_CLI_XLSX_COMMANDS_H_
#define WAYBILL_APP_CLI_XLSX_COMMANDS_H_

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "app/cli/endpoint.h"

namespace waybill::app::cli {

// Returns the exit code; everything has been printed. TZ in `environment` is the zone of times with
// an offset, else the system's.
int run_xlsx_command(const Arguments& arguments, const Environment& environment, Console& console);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_XLSX_COMMANDS_H_
