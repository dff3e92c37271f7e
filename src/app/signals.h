// Signals, memory and file modes of a serving process.

#ifndef WAYBILL_APP_SIGNALS_H_
#define WAYBILL_APP_SIGNALS_H_

#include <atomic>
#include <functional>

#include "base/clock.h"
#include "base/spawner.h"

namespace waybill::app {

// Before any thread starts: SIGTERM, SIGINT and SIGHUP wait for wait_signal(); writing to a closed
// connection or beyond a limit on file sizes is an error, not a signal.
void block_signals();

// Few arenas and early returning of memory: a server of this kind gains nothing from more.
void tune_memory();

// What the process makes from now on - database, exports, logs - is for its own user only.
void keep_files_private();

enum class Signal : std::uint8_t { kNone, kStop, kReload };
// The next signal, kNone after `timeout_ms`.
Signal wait_signal(base::Millis timeout_ms);

// Runs `shutdown` on a thread of its own and meanwhile waits for a second SIGTERM or SIGINT, which
// sets the flag that `shutdown` gets.
void shut_down(base::Spawner& spawner,
               const std::function<void(const std::atomic<bool>& hurry)>& shutdown);

}  // namespace waybill::app

#endif  // WAYBILL_APP_SIGNALS_H_
