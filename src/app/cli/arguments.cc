// The only file that knows CLI11.

#include "app/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "app/cli/exit_code.h"
#include "app/version.h"
#include "base/text.h"

namespace waybill::app::cli {
namespace {

constexpr double kMaxTimeoutSeconds = 86'400;
constexpr std::size_t kLongestGuess = 40;  // characters of a mistyped word that is still corrected

// Also refuses what is no number at all, such as nan.
template <typename Number>
CLI::Validator within(Number least, Number most) {
  const std::string words = fmt::format("{}..{}", least, most);
  return CLI::Validator(
      [least, most, words](const std::string& text) {
        Number number{};
        const bool fits =
            CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
        return fits ? std::string() : "must be " + words;
      },
      words);
}

CLI::Validator utf8_text() {
  return CLI::Validator(
      [](const std::string& text) {
        return base::is_utf8(text) ? std::string() : std::string("must be UTF-8");
      },
      "");
}

// How many characters have to be added, removed, replaced or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// The known word that was probably meant, or "": at most every third character may be wrong.
std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  if (word.size() > kLongestGuess) return best;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : known) {
    const std::size_t far = distance(word, candidate);
    if (far >= least) continue;
    least = far;
    best = candidate;
  }
  return best;
}

class Parser {
 public:
  Parser() : app_("Waybill: exports that always finish.", "waybill") {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("--version", std::string("waybill ") + kVersion);
    app_.set_help_flag("-h,--help", "Say what a command does and takes");
    global_options();
    demo();
    serve();
    config();
    exports();
    bench();
    xlsx();
    app_.footer(
        "Exit codes: 0 done, 1 internal, 2 usage, 3 unreachable, 4 not allowed, 5 not found, 6 "
        "invalid,\n"
        "7 limit or conflict, 8 FAILED, 9 CANCELLED, 10 EXPIRED, 11 local file, 130 interrupted.");
  }

  Parsed run(std::vector<std::string> words) {
    Parsed parsed;
    try {
      std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
      app_.parse(words);
      arguments_.timeout_ms = std::llround(timeout_seconds_ * 1'000);
      parsed.arguments = arguments_;
    } catch (const CLI::CallForHelp&) {
      const CLI::App* app = chosen();
      const std::string before = app == &app_ ? "" : "waybill " + path(app->get_parent());
      parsed.text = app->help(std::string(base::trim(before)), CLI::AppFormatMode::Normal);
    } catch (const CLI::CallForVersion& e) {
      parsed.text = std::string(e.what()) + "\n";
    } catch (const CLI::ParseError& e) {
      parsed.exit_code = kUsage;
      parsed.text =
          base::printable(problem(e), 300) + " (see waybill " + path(chosen()) + "--help)";
    }
    return parsed;
  }

 private:
  // A word that nobody knows is the reason of most other problems, so it is named first.
  std::string problem(const CLI::ParseError& error) {
    const CLI::App* app = chosen();
    const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::vector<std::string> rest =
        missing || extra ? app_.remaining(true) : std::vector<std::string>();
    for (const std::string& word : rest) {
      if (!word.starts_with('-')) continue;
      const std::string option = word.substr(0, word.find('='));
      return "there is no option \"" + option + "\"" + hint(option, options_of(app), "");
    }
    const std::vector<std::string> commands = commands_of(app);
    for (const std::string& word : rest) {
      if (commands.empty()) return "\"" + word + "\" is one word too many";
      return "there is no command \"" + path(app) + word + "\"" +
             hint(word, commands, "waybill " + path(app));
    }
    if (missing && !commands.empty()) return "a command is missing";
    // CLI11 writes "--port: must be ..."; a sentence reads better.
    std::string words = error.what();
    const std::size_t colon = words.find(": must be ");
    if (colon != std::string::npos) words.erase(colon, 1);
    return words;
  }

  static std::string hint(const std::string& word, const std::vector<std::string>& known,
                          const std::string& before) {
    const std::string best = nearest(word, known);
    return best.empty() ? "" : "; did you mean \"" + before + best + "\"?";
  }
  static std::vector<std::string> commands_of(const CLI::App* app) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
    return names;
  }
  // What may stand at this place: options of the command and of everything around it.
  static std::vector<std::string> options_of(const CLI::App* app) {
    std::vector<std::string> names;
    for (; app != nullptr; app = app->get_parent()) {
      for (const CLI::Option* option : app->get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
    }
    return names;
  }

  // The innermost subcommand that was named.
  CLI::App* chosen() {
    CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return app;
  }
  static std::string path(const CLI::App* app) {
    std::string words;
    for (; app != nullptr && app->get_parent() != nullptr; app = app->get_parent()) {
      words = app->get_name() + " " + words;
    }
    return words;
  }

  CLI::App* command(CLI::App* parent, const char* name, const char* description, Command value) {
    CLI::App* sub = parent->add_subcommand(name, description);
    sub->callback([this, value] { arguments_.command = value; });
    return sub;
  }

  // Checks "key=value" at once, so that a missing '=' is a usage error.
  static void add_pairs(CLI::App* app, const char* name, const char* description,
                        std::vector<std::pair<std::string, std::string>>& to) {
    app->add_option_function<std::vector<std::string>>(
           name,
           [&to, name](const std::vector<std::string>& items) {
             for (const std::string& item : items) {
               const std::size_t equals = item.find('=');
               if (equals == std::string::npos || equals == 0) {
                 throw CLI::ValidationError(std::string(name) + " wants key=value, not \"" +
                                            base::printable(item, 100) + "\"");
               }
               to.emplace_back(item.substr(0, equals), item.substr(equals + 1));
             }
           },
           description)
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
  }

  void global_options() {
    app_.add_option("--url", arguments_.url,
                    "Server, such as http://127.0.0.1:8080 (else WAYBILL_URL, else a demo's)")
        ->type_name("URL");
    app_.add_option("--token", arguments_.token, "Bearer token (else WAYBILL_TOKEN, else a demo's)")
        ->type_name("TOKEN");
    app_.add_flag("--json", arguments_.json, "Answers as JSON, one line each");
    app_.add_option("--timeout", timeout_seconds_, "Longest wait for an answer")
        ->type_name("SECONDS")
        ->capture_default_str()
        ->check(within(0.001, kMaxTimeoutSeconds));
    app_.add_flag("--no-color", arguments_.no_color, "No colours, also on a terminal");
  }

  void demo() {
    CLI::App* sub = command(&app_, "demo", "Serve a complete demo on 127.0.0.1", Command::kDemo);
    sub->add_option("--port", arguments_.port, "Port of the API; 0 = a free one")
        ->type_name("PORT")
        ->capture_default_str()
        ->check(within(0, 65'535));
    sub->add_option("--data", arguments_.data_folder,
                    "Data folder (default: $XDG_DATA_HOME/waybill)")
        ->type_name("FOLDER");
    sub->add_flag("--verbose", arguments_.verbose, "Logs to stderr instead of the data folder");
  }

  void config_options(CLI::App* sub) {
    sub->add_option("--config,-c", arguments_.config_file,
                    "Configuration file (else WAYBILL_CONFIG)")
        ->type_name("FILE");
    add_pairs(sub, "--set", "One configuration key, over file and environment; may be repeated",
              arguments_.overrides);
  }

  void serve() {
    config_options(command(&app_, "serve", "Run the server", Command::kServe));
    config_options(
        command(&app_, "migrate", "Bring the database's schema up to date", Command::kMigrate));
  }

  void config() {
    CLI::App* group = app_.add_subcommand("config", "Check and show the server's configuration");
    group->require_subcommand(1);
    config_options(command(group, "check", "Say what is wrong with it", Command::kConfigCheck));
    CLI::App* show = command(group, "show", "Print it, secrets masked", Command::kConfigShow);
    config_options(show);
    show->add_flag("--effective", arguments_.effective,
                   "With the defaults of everything that is not set");
    command(group, "docs", "Print the description of every key (docs/configuration.md)",
            Command::kConfigDocs);
  }

  void task(CLI::App* sub) {
    sub->add_option("task", arguments_.task_id, "Id of the task")->required()->type_name("ID");
  }
  void output(CLI::App* sub, const char* description) {
    sub->add_option("--output,-o", arguments_.output, description)->type_name("FILE");
  }

  void exports() {
    CLI::App* group = app_.add_subcommand("export", "Create, watch and download exports");
    group->require_subcommand(1);
    command(group, "types", "What can be exported", Command::kExportTypes);

    CLI::App* list =
        command(group, "list", "Exports that you may see, newest first", Command::kExportList);
    list->add_option("--status", arguments_.status, "Only of this status")
        ->check(CLI::IsMember(
            {"PENDING", "BLOCKED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}));
    list->add_option("--type", arguments_.type, "Only of this type")->check(utf8_text());
    list->add_option("--text", arguments_.text, "Only with this text in the name")
        ->check(utf8_text());
    list->add_option("--from", arguments_.created_from,
                     "Created at or after, such as 2026-11-30T00:00:00+08:00");
    list->add_option("--to", arguments_.created_to, "Created before");
    list->add_option("--by", arguments_.requested_by,
                     "Only of this user (others' need a permission)")
        ->check(utf8_text());
    list->add_option("--limit", arguments_.limit, "How many")
        ->capture_default_str()
        ->check(within(1, 100));
    list->add_option("--cursor", arguments_.cursor, "Go on where the previous list ended");

    task(command(group, "show", "Everything about one export", Command::kExportShow));

    CLI::App* create = command(group, "create", "Start an export", Command::kExportCreate);
    create->add_option("--type", arguments_.type, "What to export")->required()->check(utf8_text());
    add_pairs(create, "--param",
              "One parameter; the value is JSON, or a text where it is not; may be repeated",
              arguments_.params);
    create->add_option("--params", arguments_.params_json, "All parameters as one JSON object")
        ->type_name("JSON")
        ->check(utf8_text());
    create->add_option("--name", arguments_.name, "Name of the task")->check(utf8_text());
    create->add_option("--priority", arguments_.priority, "P0 (most urgent) to P3")
        ->check(CLI::IsMember({"P0", "P1", "P2", "P3"}));
    create
        ->add_option("--idempotency-key", arguments_.idempotency_key,
                     "Repeating the call with it creates nothing new")
        ->check(utf8_text());
    create->add_flag("--watch", arguments_.watch, "Wait for the end and show the way there");
    output(create, "Wait for the end and download the file to here");

    CLI::App* download =
        command(group, "download", "Fetch the file of a finished export", Command::kExportDownload);
    task(download);
    output(download, "Where to (default: the file's own name in this folder)");
    download->add_flag("--force", arguments_.force, "Also over an existing file of that name");

    CLI::App* retry = command(group, "retry", "Start a FAILED export again", Command::kExportRetry);
    task(retry);
    retry->add_flag("--watch", arguments_.watch, "Wait for the end and show the way there");
    output(retry, "Wait for the end and download the file to here");
    task(command(group, "cancel", "Stop an export", Command::kExportCancel));
  }

  void bench() {
    CLI::App* group = app_.add_subcommand("bench", "Measure this machine");
    group->require_subcommand(1);
    CLI::App* sub = command(group, "dispatch", "Tasks per second and latency of the dispatch core",
                            Command::kBenchDispatch);
    sub->add_option("--database", arguments_.database, "Database (default: a temporary one)")
        ->type_name("URL");
    sub->add_option("--tasks", arguments_.tasks, "Tasks of each measurement")
        ->capture_default_str()
        ->check(within(std::int64_t{1}, std::int64_t{10'000'000}));
    sub->add_option("--slots", arguments_.slots, "Tasks that run at the same time")
        ->capture_default_str()
        ->check(within(std::int64_t{1}, std::int64_t{10'000}));
    sub->add_option("--producers", arguments_.producers, "Threads that create tasks one by one")
        ->capture_default_str()
        ->check(within(std::int64_t{1}, std::int64_t{256}));
    sub->add_option("--finished", arguments_.finished,
                    "Finished tasks that the database holds beside them")
        ->capture_default_str()
        ->check(within(std::int64_t{0}, std::int64_t{100'000'000}));
    sub->add_flag("--force", arguments_.force, "Also on a database with tasks or live instances");
  }

  void xlsx_file(CLI::App* sub) {
    sub->add_option("file", arguments_.file, "The workbook")->required()->type_name("FILE");
  }

  void xlsx() {
    CLI::App* group =
        app_.add_subcommand("xlsx", "Write, read and check workbooks; needs no server");
    group->require_subcommand(1);
    CLI::App* from =
        command(group, "from-json", "Write a workbook from pages of rows", Command::kXlsxFromJson);
    from->add_option(
            "page", arguments_.pages,
            "Answers of a provider, the first with the columns; - reads them from standard "
            "input, one a line")
        ->required()
        ->type_name("PAGE.json...");
    from->add_option("--output,-o", arguments_.output, "The workbook")
        ->required()
        ->type_name("FILE");
    from->add_option("--level", arguments_.level, "Compression")
        ->capture_default_str()
        ->check(CLI::IsMember({"fast", "small"}));
    from->add_option(
            "--cell-refs", arguments_.cell_refs,
            "Whether each cell says its place; no is a third smaller, some readers want yes")
        ->capture_default_str()
        ->check(CLI::IsMember({"yes", "no"}));
    from->add_option("--sheet", arguments_.sheet, "Name of the sheet")
        ->type_name("NAME")
        ->check(utf8_text());
    CLI::App* to = command(group, "to-json", "Print the rows of a sheet, one JSON object a line",
                           Command::kXlsxToJson);
    xlsx_file(to);
    to->add_option("--sheet", arguments_.sheet,
                   "Number of the sheet, from 1, or its name (default: the first visible one)")
        ->type_name("N");
    xlsx_file(command(group, "verify", "Say everything that is wrong with a workbook",
                      Command::kXlsxVerify));
  }

  CLI::App app_;
  Arguments arguments_;
  double timeout_seconds_ = 30;
};

}  // namespace

Parsed parse_arguments(const std::vector<std::string>& words) { return Parser().run(words); }

}  // namespace waybill::app::cli
