// The program. Reads the command line, runs one command, ends with its exit code.

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "app/bench/bench_dispatch.h"
#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "app/cli/endpoint.h"
#include "app/cli/exit_code.h"
#include "app/cli/export_commands.h"
#include "app/cli/xlsx_commands.h"
#include "app/demo/run_demo.h"
#include "app/serve.h"

namespace waybill::app {
namespace {

int run_command(const cli::Arguments& arguments, cli::Console& console) {
  const cli::Environment environment = cli::process_environment();
  switch (arguments.command) {
    case cli::Command::kDemo:
      return demo::run_demo(arguments, environment, console);
    case cli::Command::kServe:
      return run_serve(arguments, environment, console);
    case cli::Command::kMigrate:
      return run_migrate(arguments, environment, console);
    case cli::Command::kConfigCheck:
    case cli::Command::kConfigShow:
    case cli::Command::kConfigDocs:
      return run_config(arguments, environment, console);
    case cli::Command::kBenchDispatch:
      return bench::run_bench_dispatch(arguments, console);
    case cli::Command::kXlsxFromJson:
    case cli::Command::kXlsxToJson:
    case cli::Command::kXlsxVerify:
      return cli::run_xlsx_command(arguments, environment, console);
    default:
      return cli::run_export_command(arguments, environment, console);
  }
}

int run(const std::vector<std::string>& words) {
  const cli::Parsed parsed = cli::parse_arguments(words);
  cli::Console console =
      cli::Console::standard(parsed.arguments.has_value() && parsed.arguments->no_color);
  if (parsed.arguments) return console.ended(run_command(*parsed.arguments, console));
  if (parsed.exit_code == cli::kDone) {
    console.result(parsed.text);
  } else {
    console.error(parsed.text);
  }
  return console.ended(parsed.exit_code);
}

// A closed standard stream would be given to the first file or connection that is opened, and what
// is printed would end up in it. Opened the wrong way round, so that using it stays an error.
void occupy_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    if (::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace
}  // namespace waybill::app

int main(int argc, char** argv) {
  waybill::app::occupy_standard_streams();
  try {
    return waybill::app::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    // Nothing throws on purpose; what is left is a machine without memory.
    std::fprintf(stderr, "waybill: %s\n", e.what());
    return waybill::app::cli::kInternal;
  }
}
