#include "app/cli/export_commands.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>

#include "api/json_reader.h"
#include "app/cli/api_caller.h"
#include "app/cli/download.h"
#include "app/cli/watch.h"
#include "base/text.h"

namespace waybill::app::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view kTasks = "/files/export-tasks";

class ExportCommands {
 public:
  ExportCommands(const Arguments& arguments, ApiCaller& api, std::function<bool()> stop,
                 Console& console)
      : arguments_(arguments), api_(api), stop_(std::move(stop)), console_(console) {}

  int run() {
    switch (arguments_.command) {
      case Command::kExportTypes:
        return types();
      case Command::kExportList:
        return list();
      case Command::kExportShow:
        return show();
      case Command::kExportCreate:
        return create();
      case Command::kExportDownload:
        return download();
      case Command::kExportRetry:
        return retry();
      case Command::kExportCancel:
        return cancel();
      default:
        return kInternal;
    }
  }

 private:
  // Of a call about the export that the command names.
  int fail_task(Failure failure) {
    if (failure.exit_code == kNotFound) {
      failure.message =
          "export " + base::printable(arguments_.task_id, 100) + ": " + failure.message;
    }
    return fail(failure);
  }
  int fail(const Failure& failure) {
    console_.error(failure.message);
    return failure.exit_code;
  }
  std::string task_path(std::string_view rest = {}) const {
    return std::string(kTasks) + "/" + url_encode(arguments_.task_id) + std::string(rest);
  }

  int types() {
    const Answer answer = api_.call("GET", "/files/export-types");
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail(*failure);
    const std::string& data = std::get<std::string>(answer);
    if (arguments_.json) return print(data);
    const json::value value = json::parse(data);
    const json::value* items = value.is_object() ? value.as_object().if_contains("items") : &value;
    std::vector<std::vector<std::string>> rows{{"TYPE", "TITLE", "STATE", "PARAMETERS"}};
    if (items != nullptr && items->is_array()) {
      for (const json::value& item : items->as_array()) {
        if (item.is_object()) rows.push_back(type_row(item.as_object()));
      }
    }
    console_.result(table_text(rows));
    return kDone;
  }

  static std::string text_of(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains({key.data(), key.size()});
    if (value == nullptr || !value->is_string()) return {};
    return base::printable({value->as_string().data(), value->as_string().size()}, 100);
  }

  static std::vector<std::string> type_row(const json::object& type) {
    const auto* enabled = type.if_contains("enabled");
    std::string parameters;
    if (const auto* list = type.if_contains("parameters"); list != nullptr && list->is_array()) {
      for (const json::value& parameter : list->as_array()) {
        if (!parameter.is_object()) continue;
        const auto* required = parameter.as_object().if_contains("required");
        const bool must = required != nullptr && required->is_bool() && required->as_bool();
        parameters += (parameters.empty() ? "" : " ") + text_of(parameter.as_object(), "name") +
                      (must ? "*" : "");
      }
    }
    const bool off = enabled != nullptr && enabled->is_bool() && !enabled->as_bool();
    return {text_of(type, "exportType"), text_of(type, "title"), off ? "disabled" : "enabled",
            parameters};
  }

  int list() {
    std::string query = fmt::format("?limit={}", arguments_.limit);
    const auto add = [&query](const char* key, const std::string& value) {
      if (!value.empty()) query += fmt::format("&{}={}", key, url_encode(value));
    };
    add("status", arguments_.status);
    add("type", arguments_.type);
    add("text", arguments_.text);
    add("from", arguments_.created_from);
    add("to", arguments_.created_to);
    add("requestedBy", arguments_.requested_by);
    add("cursor", arguments_.cursor);
    const Answer answer = api_.call("GET", std::string(kTasks) + query);
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail(*failure);
    if (arguments_.json) return print(std::get<std::string>(answer));
    std::string next;
    const auto tasks = parse_task_list(std::get<std::string>(answer), &next);
    if (!tasks) return fail({kInternal, "the server's answer is not a list", false});
    std::vector<std::vector<std::string>> rows{
        {"ID", "TYPE", "STATUS", "ROWS", "SIZE", "REQUESTED", "NAME"}};
    for (const TaskView& task : *tasks) {
      rows.push_back({task.id, task.type, task.status,
                      task.processed > 0 ? grouped(task.processed) : "",
                      task.size > 0 ? readable_size(task.size) : "", task.requested_at, task.name});
    }
    console_.result(table_text(rows));
    if (!next.empty()) console_.note("more: --cursor " + next);
    return kDone;
  }

  int show() {
    const Answer answer = api_.call("GET", task_path());
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail_task(*failure);
    if (arguments_.json) return print(std::get<std::string>(answer));
    const auto task = parse_task(std::get<std::string>(answer));
    if (!task) return fail({kInternal, "the server's answer is not a task", false});
    console_.result(task_text(*task));
    return kDone;
  }

  int create() {
    const auto body = create_body(arguments_);
    if (!body.ok()) return fail({kUsage, body.error().message, false});
    if (const auto failure = unwritable()) return fail(*failure);
    ApiCaller::Headers headers;
    if (!arguments_.idempotency_key.empty())
      headers.emplace_back("Idempotency-Key", arguments_.idempotency_key);
    Answer answer = api_.call("POST", std::string(kTasks), *body, headers);
    if (auto* failure = std::get_if<Failure>(&answer); failure != nullptr && failure->unanswered) {
      failure->message +=
          "; the export may have been created all the same: see \"waybill export list\"";
      if (!arguments_.idempotency_key.empty())
        failure->message += ", or repeat the command with this --idempotency-key";
    }
    return started(answer, "created");
  }

  int retry() {
    if (const auto failure = unwritable()) return fail(*failure);
    const Answer answer = api_.call("POST", task_path("/retry"));
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail_task(*failure);
    return started(answer, "started again");
  }

  // Before anything is started on the server.
  std::optional<Failure> unwritable() const {
    return arguments_.output.empty() ? std::nullopt : check_output(arguments_.output);
  }

  int started(const Answer& answer, const char* what) {
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail(*failure);
    const std::string& data = std::get<std::string>(answer);
    const auto task = parse_task(data);
    if (!task) return fail({kInternal, "the server's answer is not a task", false});
    const bool wait = arguments_.watch || !arguments_.output.empty();
    if (arguments_.json) {
      console_.result_line(data);
    } else if (wait) {
      console_.note(fmt::format("export {} {}", task->id,
                                task->deduplicated ? "is already on its way" : what));
    } else {
      console_.result_line(task->id);
      if (task->deduplicated) console_.note("this export is already on its way");
    }
    return wait ? follow(task->id) : static_cast<int>(kDone);
  }

  int follow(const std::string& id) {
    const WatchOptions options{
        .json = arguments_.json, .timeout_ms = arguments_.timeout_ms, .stop = stop_};
    const auto watched = watch_task(api_, id, options, console_);
    if (const auto* failure = std::get_if<Failure>(&watched)) return fail(*failure);
    const TaskView& task = std::get<TaskView>(watched);
    if (task.status != "SUCCEEDED") return fail(ended(task));
    if (!arguments_.output.empty()) {
      if (const auto failure = download_file(api_, task, arguments_.output, console_))
        return fail(*failure);
    }
    if (!arguments_.json) console_.result(receipt_text(task));
    if (!arguments_.output.empty()) saved(arguments_.output);
    return kDone;
  }

  void saved(const std::string& path) {
    const std::string words = "saved " + base::printable(path, 500);
    if (arguments_.json) {
      console_.note(words);
    } else {
      console_.result_line(words);
    }
  }

  static Failure ended(const TaskView& task) {
    if (task.status == "FAILED") {
      return {kTaskFailed,
              fmt::format("export {} failed after {} attempt{}: {}{}", task.id, task.attempt,
                          task.attempt == 1 ? "" : "s", task.failure_message,
                          task.failure_class.empty() ? "" : " (" + task.failure_class + ")"),
              false};
    }
    if (task.status == "CANCELLED")
      return {kTaskCancelled, fmt::format("export {} was cancelled", task.id), false};
    if (task.status == "EXPIRED")
      return {kTaskExpired, fmt::format("the file of export {} has expired", task.id), false};
    return {kLimitOrConflict,
            fmt::format("export {} has no file yet: it is {}", task.id, progress_text(task)),
            false};
  }

  int download() {
    const Answer answer = api_.call("GET", task_path());
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail_task(*failure);
    const auto task = parse_task(std::get<std::string>(answer));
    if (!task) return fail({kInternal, "the server's answer is not a task", false});
    if (task->status != "SUCCEEDED") return fail(ended(*task));
    const std::string path =
        arguments_.output.empty() ? safe_file_name(task->file_name, task->id) : arguments_.output;
    std::error_code error;
    if (arguments_.output.empty() && !arguments_.force && std::filesystem::exists(path, error)) {
      return fail({kLocalFile, path + " exists already: give --output or --force", false});
    }
    if (const auto failure = download_file(api_, *task, path, console_)) return fail(*failure);
    if (arguments_.json) {
      json::object done;
      done["id"] = task->id;
      done["path"] = path;
      done["size"] = task->size;
      done["sha256"] = task->sha256;
      return print(json::serialize(done));
    }
    saved(path);
    return kDone;
  }

  int cancel() {
    const Answer answer = api_.call("POST", task_path("/cancel"));
    if (const auto* failure = std::get_if<Failure>(&answer)) return fail_task(*failure);
    const std::string& data = std::get<std::string>(answer);
    if (arguments_.json) return print(data);
    const json::value value = json::parse(data);
    std::string result = value.is_object() ? text_of(value.as_object(), "result") : std::string();
    for (char& c : result) c = c == '_' ? ' ' : c;
    console_.result_line(fmt::format("export {}: {}", arguments_.task_id, result));
    return kDone;
  }

  int print(const std::string& data) {
    console_.result_line(data);
    return kDone;
  }

  const Arguments& arguments_;
  ApiCaller& api_;
  const std::function<bool()> stop_;
  Console& console_;
};

}  // namespace

base::Result<std::string> create_body(const Arguments& arguments) {
  json::object parameters;
  boost::system::error_code error;
  if (!arguments.params_json.empty()) {
    const auto given = json::parse(arguments.params_json, error);
    if (error || !given.is_object())
      return base::invalid("params", "--params must be one JSON object");
    // Which of two values counts would be a guess. The API's own reader sees every key.
    if (const auto strict = api::read_json_object(arguments.params_json); !strict.ok()) {
      return base::invalid("params", "--params: " + strict.error().message);
    }
    parameters = given.as_object();
  }
  for (const auto& [key, text] : arguments.params) {
    if (!base::is_utf8(key) || !base::is_utf8(text)) {
      return base::invalid("param", "--param " + base::printable(key, 100) + " must be UTF-8");
    }
    if (parameters.contains(key)) {
      return base::invalid("param",
                           "the parameter " + base::printable(key, 100) + " is given twice");
    }
    const auto value = json::parse(text, error);
    parameters[key] = error ? json::value(text) : value;
  }
  json::object body;
  body["exportType"] = arguments.type;
  body["format"] = "XLSX";
  if (!arguments.name.empty()) body["taskName"] = arguments.name;
  if (!arguments.priority.empty()) body["priority"] = arguments.priority;
  body["parameters"] = std::move(parameters);
  return json::serialize(body);
}

int run_export_command(const Arguments& arguments, const Environment& environment,
                       Console& console) {
  auto endpoint = find_endpoint(arguments, environment);
  if (!endpoint.ok()) {
    console.error(endpoint.error().message);
    return kUsage;
  }
  const auto stop = catch_interrupts();
  auto api = ApiCaller::make(std::move(*endpoint), arguments.timeout_ms, stop);
  if (const auto* failure = std::get_if<Failure>(&api)) {
    console.error(failure->message);
    return failure->exit_code;
  }
  return ExportCommands(arguments, *std::get<std::unique_ptr<ApiCaller>>(api), stop, console).run();
}

}  // namespace waybill::app::cli
