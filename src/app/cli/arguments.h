// The command line as data.

#ifndef WAYBILL_APP_CLI_ARGUMENTS_H_
#define WAYBILL_APP_CLI_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace waybill::app::cli {

enum class Command : std::uint8_t {
  kDemo,
  kServe,
  kMigrate,
  kConfigCheck,
  kConfigShow,
  kConfigDocs,
  kExportTypes,
  kExportList,
  kExportShow,
  kExportCreate,
  kExportDownload,
  kExportRetry,
  kExportCancel,
  kBenchDispatch,
  kXlsxFromJson,
  kXlsxToJson,
  kXlsxVerify,
};

struct Arguments {
  Command command = Command::kDemo;

  // Global.
  std::string url, token;  // empty = look further (see endpoint.h)
  bool json = false;
  bool no_color = false;
  base::Millis timeout_ms =
      30'000;  // of one answer, and of a server that went away while it is watched

  // serve, migrate, config.
  std::string config_file;
  std::vector<std::pair<std::string, std::string>> overrides;
  bool effective = false;

  // demo.
  std::uint16_t port = 8080;
  std::string data_folder;
  bool verbose = false;

  // export.
  std::string task_id;
  std::string type, name, priority, params_json, output, idempotency_key;
  std::vector<std::pair<std::string, std::string>> params;
  bool watch = false;
  bool force = false;
  std::string status, requested_by, created_from, created_to, text, cursor;
  std::int64_t limit = 20;

  // bench dispatch.
  std::string database;
  std::int64_t tasks = 20'000, slots = 512, producers = 64, finished = 0;

  // xlsx; `output` as above.
  std::vector<std::string> pages;  // "-" = standard input
  std::string file, sheet, level = "fast", cell_refs = "yes";
};

struct Parsed {
  std::optional<Arguments> arguments;
  int exit_code = 0;  // when there are no arguments: 0 after --help and --version, else kUsage
  std::string text;   // what to print then: to stdout when exit_code is 0, else one line to stderr
};

// `words` without the program's name.
Parsed parse_arguments(const std::vector<std::string>& words);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_ARGUMENTS_H_
