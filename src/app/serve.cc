#include "app/serve.h"

#include <cerrno>
#include <fstream>
#include <optional>

#include "app/config.h"
#include "app/database.h"
#include "app/log_sink.h"
#include "app/node.h"
#include "app/settings.h"
#include "app/signals.h"
#include "base/errno_text.h"
#include "base/text.h"

namespace waybill::app {
namespace {

constexpr std::size_t kShownMessage = 1'000;  // characters

// The configuration of this command line, or nothing after saying why.
std::optional<Config> load(const cli::Arguments& arguments, const cli::Environment& environment,
                           cli::Console& console, bool every_problem) {
  ConfigSources sources;
  sources.file_name = arguments.config_file.empty() ? environment("WAYBILL_CONFIG").value_or("")
                                                    : arguments.config_file;
  if (!sources.file_name.empty()) {
    std::ifstream in(sources.file_name, std::ios::binary);
    std::string text(kMaxConfigBytes + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || (in.gcount() == 0 && !in.eof())) {
      console.error("cannot read the configuration file " +
                    base::printable(sources.file_name, 300) + ": " + base::errno_text(errno));
      return std::nullopt;
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    sources.file_text = std::move(text);
  }
  sources.environment = waybill_environment();
  sources.overrides = arguments.overrides;
  LoadedConfig loaded = load_config(sources);
  if (loaded.config) return std::move(loaded.config);
  if (every_problem) {
    for (const std::string& problem : loaded.problems) console.error(problem);
  } else {
    const std::size_t more = loaded.problems.size() - 1;
    console.error(
        loaded.problems.front() +
        (more == 0 ? "" : " (and " + std::to_string(more) + " more: waybill config check)"));
  }
  return std::nullopt;
}

int fail(cli::Console& console, const base::Error& error) {
  console.error(base::printable(error.message, kShownMessage));
  return start_exit_code(error);
}

}  // namespace

cli::ExitCode start_exit_code(const base::Error& error) {
  for (const std::string_view file :
       {std::string_view("files.directory"), kDatabaseField, kLogFileField}) {
    if (error.field.starts_with(file)) return cli::kLocalFile;
  }
  return error.category == base::ErrorCategory::kInvalid ? cli::kUsage : cli::exit_code_of(error);
}

int run_serve(const cli::Arguments& arguments, const cli::Environment& environment,
              cli::Console& console) {
  const auto config = load(arguments, environment, console, false);
  if (!config) return cli::kUsage;
  auto settings = make_settings(*config);
  if (!settings.ok()) return fail(console, settings.error());

  block_signals();
  keep_files_private();
  tune_memory();
  base::SystemClock clock;
  base::SystemRandom random;
  base::ThreadSpawner spawner;
  auto sink =
      make_log_sink({.level = settings->log_level, .file = {}, .zone = settings->time_zone}, clock);
  if (!sink.ok()) return fail(console, sink.error());
  const LogScope logs(std::move(*sink));

  auto ports = bind_ports(*config);
  if (!ports.ok()) return fail(console, ports.error());
  const base::Millis check_ms = settings->registry_check_ms;
  auto node = Node::build(std::move(*settings), {clock, clock, random, spawner}, std::move(*ports));
  if (!node.ok()) return fail(console, node.error());
  if (const auto started = (*node)->start(); !started.ok()) return fail(console, started.error());
  for (Signal signal = Signal::kNone; signal != Signal::kStop;) {
    signal = wait_signal(check_ms);
    if (signal != Signal::kStop) (*node)->reload_registry(signal == Signal::kNone);
  }
  shut_down(spawner, [&](const std::atomic<bool>& hurry) { (*node)->shutdown(&hurry); });
  return cli::kDone;
}

int run_migrate(const cli::Arguments& arguments, const cli::Environment& environment,
                cli::Console& console) {
  const auto config = load(arguments, environment, console, false);
  if (!config) return cli::kUsage;
  const auto settings = make_settings(*config);
  if (!settings.ok()) return fail(console, settings.error());
  keep_files_private();
  base::SystemClock clock;
  base::SystemRandom random;
  const store::Seams seams{.database_clock = clock, .random = random};
  const auto store = open_database(settings->database_path, seams);
  if (!store.ok()) return fail(console, store.error());
  const auto restored = (*store)->restore_guards();
  if (!restored.ok()) return fail(console, restored.error());
  const auto version = (*store)->schema_version();
  if (!version.ok()) return fail(console, version.error());
  if (arguments.json) {
    console.result_line("{\"schemaVersion\":" + std::to_string(*version) +
                        ",\"restoredRows\":" + std::to_string(*restored) + "}");
    return cli::kDone;
  }
  console.result_line("the schema is at version " + std::to_string(*version));
  if (*restored > 0)
    console.result_line("rows that were missing and are there again: " + std::to_string(*restored));
  return cli::kDone;
}

int run_config(const cli::Arguments& arguments, const cli::Environment& environment,
               cli::Console& console) {
  if (arguments.command == cli::Command::kConfigDocs) {
    console.result(configuration_document());
    return cli::kDone;
  }
  const auto config = load(arguments, environment, console, true);
  if (!config) return cli::kUsage;
  if (arguments.command == cli::Command::kConfigShow) {
    console.result(arguments.json ? show_json(*config, arguments.effective) + "\n"
                                  : show_yaml(*config, arguments.effective));
    return cli::kDone;
  }
  if (const auto settings = make_settings(*config); !settings.ok())
    return fail(console, settings.error());
  console.result_line(arguments.json ? R"({"valid":true})" : "the configuration is valid");
  return cli::kDone;
}

}  // namespace waybill::app
