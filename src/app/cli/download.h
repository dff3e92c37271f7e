// Fetches a finished file: first under a hidden name beside its place, checked against the size and
// SHA-256 that the server recorded, then renamed. A broken transfer leaves the hidden part, and the
// next try goes on from there.

#ifndef WAYBILL_APP_CLI_DOWNLOAD_H_
#define WAYBILL_APP_CLI_DOWNLOAD_H_

#include <optional>
#include <string>

#include "app/cli/api_caller.h"
#include "app/cli/console.h"
#include "app/cli/task_view.h"

namespace waybill::app::cli {

// Before anything is started: says why nothing could be written to `path` (kLocalFile).
std::optional<Failure> check_output(const std::string& path);

// `task` is SUCCEEDED. An existing file at `path`, or where it links to, is replaced in one step,
// after everything was checked.
std::optional<Failure> download_file(ApiCaller& api, const TaskView& task, const std::string& path,
                                     Console& console);

// The server's file name without anything that would lead out of this folder.
std::string safe_file_name(std::string_view name, std::string_view task_id);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_DOWNLOAD_H_
