#include "app/cli/task_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/text.h"

namespace waybill::app::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kShownText = 1'000;  // characters

const json::value* find(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains({key.data(), key.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string scalar_text(const json::value& value) {
  if (value.is_string())
    return base::printable({value.as_string().data(), value.as_string().size()}, kShownText);
  return base::printable(json::serialize(value), kShownText);
}

std::string text(const json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  return value == nullptr || value->is_object() || value->is_array() ? std::string()
                                                                     : scalar_text(*value);
}

std::optional<double> number(const json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code error;
  const double result = value->to_number<double>(error);
  return error || !std::isfinite(result) ? std::nullopt : std::optional(result);
}

std::optional<std::int64_t> whole(const json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return base::parse_int(value->as_string());
  boost::system::error_code error;
  const auto result = value->to_number<std::int64_t>(error);
  return error ? std::nullopt : std::optional(result);
}

const json::object* section(const json::object& object, std::string_view key) {
  const auto* value = find(object, key);
  return value != nullptr && value->is_object() ? &value->as_object() : nullptr;
}

TaskView view_of(const json::object& o) {
  TaskView task;
  task.id = text(o, "id");
  task.type = text(o, "exportType");
  task.title = text(o, "title");
  task.name = text(o, "taskName");
  task.status = text(o, "status");
  task.priority = text(o, "priority");
  task.requested_by = text(o, "requestedBy");
  task.requested_at = text(o, "requestedAt");
  task.started_at = text(o, "startedAt");
  task.completed_at = text(o, "completedAt");
  task.expires_at = text(o, "expiresAt");
  task.attempt = whole(o, "attempt").value_or(0);
  task.max_attempts = whole(o, "maxAttempts").value_or(0);
  const auto* deduplicated = find(o, "deduplicated");
  task.deduplicated = deduplicated != nullptr && deduplicated->is_bool() && deduplicated->as_bool();
  if (const auto* progress = section(o, "progress")) {
    task.processed = whole(*progress, "processed").value_or(0);
    task.total = whole(*progress, "total");
    task.rows_per_second = number(*progress, "rowsPerSecond");
    task.eta_seconds = number(*progress, "etaSeconds");
  }
  if (const auto* waiting = section(o, "waitingFor")) {
    task.waiting_code = text(*waiting, "code");
    task.waiting_message = text(*waiting, "message");
  }
  if (const auto* failure = section(o, "failure")) {
    task.failure_class = text(*failure, "class");
    task.failure_message = text(*failure, "message");
    task.retry_at = text(*failure, "retryAt");
  }
  if (const auto* file = section(o, "file")) {
    task.file_name = text(*file, "name");
    task.sha256 = text(*file, "sha256");
    task.size = whole(*file, "size").value_or(0);
  }
  if (const auto* receipt = section(o, "receipt")) {
    for (const auto& [key, value] : *receipt) {
      if (!value.is_null())
        task.receipt.emplace_back(base::printable({key.data(), key.size()}, 100),
                                  scalar_text(value));
    }
  }
  return task;
}

// Columns that a character takes on a terminal: East Asian wide and full-width ones and emoji take
// two.
std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const std::size_t n = std::max<std::size_t>(base::utf8_sequence(utf8), 1);
    const auto lead = static_cast<unsigned char>(utf8[0]);
    std::uint32_t code = lead;
    if (n > 1) {
      code = lead & (0xFFu >> (n + 1));
      for (std::size_t i = 1; i < n; ++i)
        code = code << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3F);
    }
    const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                      (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                      (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                      (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
                      code >= 0x20000;
    width += wide ? 2 : 1;
    utf8.remove_prefix(n);
  }
  return width;
}

double share_done(const TaskView& task) {
  if (task.status == "SUCCEEDED") return 1;
  if (!task.total || *task.total <= 0) return 0;
  // The total is the provider's estimate: only the end is 100 %.
  return std::clamp(static_cast<double>(task.processed) / static_cast<double>(*task.total), 0.0,
                    0.99);
}

std::string figure(const TaskView& task, std::string_view key) {
  for (const auto& [name, value] : task.receipt) {
    if (name == key) return value;
  }
  return {};
}

std::string line(std::string_view label, std::string_view value) {
  return value.empty() ? std::string() : fmt::format("  {:<12} {}\n", label, value);
}

}  // namespace

std::optional<TaskView> parse_task(std::string_view text) {
  boost::system::error_code error;
  const auto value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object() || find(value.as_object(), "id") == nullptr) return std::nullopt;
  return view_of(value.as_object());
}

std::optional<std::vector<TaskView>> parse_task_list(std::string_view list,
                                                     std::string* next_cursor) {
  boost::system::error_code error;
  const auto value = json::parse({list.data(), list.size()}, error);
  if (error || !value.is_object()) return std::nullopt;
  const auto* items = find(value.as_object(), "items");
  if (items == nullptr || !items->is_array()) return std::nullopt;
  *next_cursor = text(value.as_object(), "nextCursor");
  std::vector<TaskView> tasks;
  for (const auto& item : items->as_array()) {
    if (item.is_object()) tasks.push_back(view_of(item.as_object()));
  }
  return tasks;
}

bool has_ended(const TaskView& task) {
  return task.status == "SUCCEEDED" || task.status == "FAILED" || task.status == "CANCELLED" ||
         task.status == "EXPIRED";
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3 + (number < 0 ? 1u : 0u);)
    digits.insert(at -= 3, ",");
  return digits;
}

std::string readable_size(std::int64_t bytes) {
  if (bytes < 1'024) return fmt::format("{} bytes", bytes);
  if (bytes < 1'048'576) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1'024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1'048'576);
}

std::string readable_seconds(double seconds) {
  if (seconds < 10 && seconds != std::floor(seconds)) return fmt::format("{:.1f} s", seconds);
  const auto whole_seconds = static_cast<std::int64_t>(std::llround(seconds));
  if (whole_seconds < 60) return fmt::format("{} s", whole_seconds);
  if (whole_seconds < 3'600)
    return fmt::format("{} min {} s", whole_seconds / 60, whole_seconds % 60);
  return fmt::format("{} h {} min", whole_seconds / 3'600, whole_seconds / 60 % 60);
}

std::string progress_text(const TaskView& task) {
  std::string out;
  if (task.status != "RUNNING") {
    out = task.status;
    if (!has_ended(task) && !task.waiting_message.empty()) out += ": " + task.waiting_message;
    if (!has_ended(task) && task.waiting_message.empty() && !task.failure_message.empty())
      out += ": " + task.failure_message;
    if (task.status == "FAILED") out += ": " + task.failure_message;
    return out;
  }
  if (task.total && *task.total > 0) {
    out = fmt::format("{:.0f} %, {} of {} rows", std::floor(share_done(task) * 100),
                      grouped(task.processed), grouped(*task.total));
  } else {
    out = grouped(task.processed) + " rows";
  }
  if (task.rows_per_second && *task.rows_per_second > 0) {
    out += ", " + grouped(std::llround(*task.rows_per_second)) + " rows/s";
  }
  if (task.eta_seconds) out += ", " + readable_seconds(*task.eta_seconds) + " left";
  if (task.attempt > 1) out += fmt::format(", attempt {} of {}", task.attempt, task.max_attempts);
  return out;
}

namespace {

// The progress on at most `room` columns: whole parts of it, else whole words, else what fits.
std::string fitted(const TaskView& task, std::size_t room) {
  std::string text = progress_text(task);
  const auto shorten = [&](std::string_view separator) {
    while (display_width(text) > room) {
      const std::size_t at = text.rfind(separator);
      if (at == std::string::npos) return;
      text.resize(at);
    }
  };
  const std::size_t whole_width = display_width(text);
  if (task.status == "RUNNING") shorten(", ");
  shorten(" ");
  if (display_width(text) < whole_width && text.ends_with(':')) text.pop_back();
  while (display_width(text) > room) {
    text = std::string(base::utf8_prefix(text, base::utf8_length(text) - 1));
  }
  return text;
}

}  // namespace

std::string progress_bar(const TaskView& task, std::size_t columns, bool color) {
  constexpr std::size_t kBar = 24;
  constexpr std::size_t kAround = 3;       // two brackets and a blank
  constexpr std::size_t kBarColumns = 40;  // a narrower terminal shows the text alone
  const std::size_t usable = columns > 0 ? columns - 1 : 0;  // a full line would wrap
  if (columns < kBarColumns) return fitted(task, usable);
  const auto filled = static_cast<std::size_t>(share_done(task) * kBar);
  const std::string text = fitted(task, usable - kBar - kAround);
  const std::string done(filled, '#');
  const std::string rest(kBar - filled, '-');
  return color ? fmt::format("[\x1b[32m{}\x1b[2m{}\x1b[0m] {}", done, rest, text)
               : fmt::format("[{}{}] {}", done, rest, text);
}

std::string receipt_text(const TaskView& task) {
  std::string out = fmt::format("Export {} {}: {}\n", task.id, task.status, task.file_name);
  const auto rows = base::parse_int(figure(task, "rowsWritten"));
  const std::string sheets = figure(task, "rowsPerSheet");
  const auto sheet_count = std::count(sheets.begin(), sheets.end(), ',') + 1;
  if (rows)
    out += line("rows", grouped(*rows) +
                            (sheet_count > 1 ? fmt::format(" on {} sheets", sheet_count) : ""));
  out += line("pages", figure(task, "pages"));
  out += line("size", readable_size(task.size));
  out += line("sha256", task.sha256);
  if (const auto ms = base::parse_int(figure(task, "durationMs"))) {
    out += line("took", readable_seconds(static_cast<double>(*ms) / 1'000));
  }
  out += line("data as of", figure(task, "snapshotAt"));
  out += line("kept until", task.expires_at);
  for (const std::string& note : notes_of(
           [&](std::string_view key) { return base::parse_int(figure(task, key)).value_or(0); })) {
    out += line("note", note);
  }
  return out;
}

std::vector<std::string> notes_of(const std::function<std::int64_t(std::string_view)>& figure) {
  struct Note {
    std::string_view key, one, more;
  };
  static constexpr Note kNotes[] = {
      {"cellsCut", "cell cut to 32,767 characters", "cells cut to 32,767 characters"},
      {"cellsGuarded", "cell that looks like a formula, kept as text",
       "cells that look like formulas, kept as text"},
      {"integersAsText", "integer beyond 15 digits, kept as text",
       "integers beyond 15 digits, kept as text"},
      {"decimalsAsText", "decimal beyond 15 digits, kept as text",
       "decimals beyond 15 digits, kept as text"},
      {"invalidAsText", "value not of its column's type, kept as text",
       "values not of their column's type, kept as text"},
      {"textRepaired", "text with broken characters, repaired",
       "texts with broken characters, repaired"},
      {"pagesRepaired", "page that was not UTF-8, repaired", "pages that were not UTF-8, repaired"},
      {"undeclaredKeys", "field without a column, left out", "fields without a column, left out"}};
  std::vector<std::string> notes;
  for (const Note& note : kNotes) {
    const std::int64_t count = figure(note.key);
    if (count > 0)
      notes.push_back(fmt::format("{} {}", grouped(count), count == 1 ? note.one : note.more));
  }
  return notes;
}

std::string task_text(const TaskView& task) {
  if (task.status == "SUCCEEDED" && !task.receipt.empty()) return receipt_text(task);
  std::string out = fmt::format("Export {} {}\n", task.id, task.status);
  out += line("type", task.type + (task.title.empty() ? "" : " (" + task.title + ")"));
  out += line("name", task.name);
  out += line("priority", task.priority);
  out += line("requested",
              task.requested_at + (task.requested_by.empty() ? "" : " by " + task.requested_by));
  out += line("started", task.started_at);
  out += line("completed", task.completed_at);
  if (task.max_attempts > 0)
    out += line("attempt", fmt::format("{} of {}", task.attempt, task.max_attempts));
  if (task.status == "RUNNING") out += line("progress", progress_text(task));
  if (!has_ended(task)) {
    out += line(task.status == "RUNNING" ? "state" : "waiting for", task.waiting_message);
  }
  if (!task.failure_message.empty()) {
    out += line("failure", task.failure_message +
                               (task.failure_class.empty() ? "" : " (" + task.failure_class + ")"));
  }
  out += line("retry at", task.retry_at);
  return out;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i] + std::string(widths[i] - display_width(row[i]) + 2, ' ');
    }
    text.resize(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

}  // namespace waybill::app::cli
