// What the program ends with. Scripts depend on these numbers: additions are free, changes are
// breaking.

#ifndef WAYBILL_APP_CLI_EXIT_CODE_H_
#define WAYBILL_APP_CLI_EXIT_CODE_H_

#include "base/error.h"

namespace waybill::app::cli {

// DO NOT CHANGE.
enum ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,        // wrong command line or configuration
  kUnreachable = 3,  // the server, database or another side is away
  kNotAllowed = 4,
  kNotFound = 5,
  kInvalidInput = 6,
  kLimitOrConflict = 7,
  kTaskFailed = 8,
  kTaskCancelled = 9,
  kTaskExpired = 10,
  kLocalFile = 11,  // a file on this machine cannot be read or written
  kInterrupted = 130,
};

ExitCode exit_code_of(const base::Error& error);

// Of an answer of the API: `number` is the envelope's (40401, 42901, ...), 0 where there was none.
ExitCode exit_code_of_answer(int http_status, long number);

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_EXIT_CODE_H_
