// An export task as the command line shows it, read from the API's JSON.

#ifndef WAYBILL_APP_CLI_TASK_VIEW_H_
#define WAYBILL_APP_CLI_TASK_VIEW_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waybill::app::cli {

struct TaskView {
  std::string id, type, title, name, status, priority, requested_by;
  std::string requested_at, started_at, completed_at, expires_at;
  std::int64_t attempt = 0, max_attempts = 0;
  std::int64_t processed = 0;
  std::optional<std::int64_t> total;
  std::optional<double> rows_per_second, eta_seconds;
  std::string waiting_code, waiting_message;
  std::string failure_class, failure_message, retry_at;
  std::string file_name, sha256;
  std::int64_t size = 0;
  std::vector<std::pair<std::string, std::string>>
      receipt;  // in the server's order, values as text
  bool deduplicated = false;
};

// Nullopt when `json` is no task. Texts are made printable: they come from outside and go to a
// terminal.
std::optional<TaskView> parse_task(std::string_view json);
// Of {"items":[...],"nextCursor":...}.
std::optional<std::vector<TaskView>> parse_task_list(std::string_view json,
                                                     std::string* next_cursor);

// SUCCEEDED, FAILED, CANCELLED or EXPIRED.
bool has_ended(const TaskView& task);

// "200,000"
std::string grouped(std::int64_t number);
// "12.3 MiB"
std::string readable_size(std::int64_t bytes);
// "1 min 5 s"
std::string readable_seconds(double seconds);

// "43 %, 86,000 of 200,000 rows, 52,000 rows/s, 2 s left", "waiting: ...", as far as known.
std::string progress_text(const TaskView& task);
// "[########------------]  43 %  ..." for a terminal of `columns`.
std::string progress_bar(const TaskView& task, std::size_t columns, bool color);
// What the receipt says, one line per figure that means something to a reader.
std::string receipt_text(const TaskView& task);
// "3 cells cut to 32,767 characters" and so on for each figure of a receipt (by its key, such as
// "cellsCut") that is not 0 and means that the file differs from the data.
std::vector<std::string> notes_of(const std::function<std::int64_t(std::string_view)>& figure);
// Everything about a task, one line each.
std::string task_text(const TaskView& task);

// Columns of an aligned table; the first row is the header. Widths count East Asian wide characters
// twice.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_TASK_VIEW_H_
