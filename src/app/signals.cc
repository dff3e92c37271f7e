#include "app/signals.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/stat.h>

#include <csignal>

#include "base/log.h"

namespace waybill::app {
namespace {

constexpr int kArenas = 2;
constexpr int kTrimBytes = 1 << 20;  // free memory at the end of the heap that is kept
constexpr int kMmapBytes = 8 << 20;  // larger pieces come from and go back to the system at once
constexpr base::Millis kShutdownCheckMs = 50;  // between two looks whether the shutdown is over

sigset_t ours() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = ours();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

void tune_memory() {
  ::mallopt(M_ARENA_MAX, kArenas);
  ::mallopt(M_TRIM_THRESHOLD, kTrimBytes);
  ::mallopt(M_MMAP_THRESHOLD, kMmapBytes);
}

void keep_files_private() { ::umask(077); }

Signal wait_signal(base::Millis timeout_ms) {
  const sigset_t set = ours();
  const timespec timeout{.tv_sec = timeout_ms / 1'000, .tv_nsec = timeout_ms % 1'000 * 1'000'000};
  switch (::sigtimedwait(&set, nullptr, &timeout)) {
    case SIGTERM:
    case SIGINT:
      return Signal::kStop;
    case SIGHUP:
      return Signal::kReload;
    default:
      return Signal::kNone;
  }
}

void shut_down(base::Spawner& spawner,
               const std::function<void(const std::atomic<bool>& hurry)>& shutdown) {
  std::atomic<bool> hurry{false};
  std::atomic<bool> done{false};
  const auto thread = spawner.spawn("shutdown", [&] {
    shutdown(hurry);
    done = true;
  });
  if (thread == nullptr) {  // no thread to be had: then without waiting for the second signal
    shutdown(hurry);
    return;
  }
  while (!done.load()) {
    if (wait_signal(kShutdownCheckMs) == Signal::kStop && !hurry.exchange(true)) {
      base::log(base::LogLevel::kInfo, "shutdown_hurried");
    }
  }
}

}  // namespace waybill::app
