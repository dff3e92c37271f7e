#include "app/cli/watch.h"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <csignal>

#include "base/clock.h"

namespace waybill::app::cli {
namespace {

constexpr base::Millis kFirstPeriodMs = 250;    // between two looks during the first seconds
constexpr base::Millis kLaterPeriodMs = 1'000;  // and afterwards
constexpr base::Millis kFirstPhaseMs = 10'000;
constexpr base::Millis kPlainPeriodMs =
    2'000;  // between two progress lines where there is no terminal

std::atomic<bool> g_interrupted{false};

void on_interrupt(int) { g_interrupted.store(true); }

// A signal ends the pause early.
void pause_for(base::Millis ms) { ::poll(nullptr, 0, static_cast<int>(ms)); }

class Watcher {
 public:
  Watcher(ApiCaller& api, const std::string& id, const WatchOptions& options, Console& console)
      : api_(api), id_(id), options_(options), console_(console) {}

  std::variant<TaskView, Failure> run() {
    const base::Millis started = clock_.boot_ms();
    answered_at_ = started;
    for (;;) {
      if (options_.stop()) return interrupted();
      auto answer = api_.call("GET", "/files/export-tasks/" + url_encode(id_));
      if (auto* failure = std::get_if<Failure>(&answer)) {
        if (failure->exit_code == kInterrupted) return interrupted();
        if (!tolerable(*failure)) return *failure;
      } else {
        answered_at_ = clock_.boot_ms();
        away_ = false;
        const auto task = parse_task(std::get<std::string>(answer));
        if (!task) return Failure{kInternal, "the server's answer is not a task", false};
        show(*task, std::get<std::string>(answer));
        if (has_ended(*task)) return *task;
      }
      pause_for(clock_.boot_ms() - started < kFirstPhaseMs ? kFirstPeriodMs : kLaterPeriodMs);
    }
  }

 private:
  [[nodiscard]] Failure interrupted() const {
    return {kInterrupted,
            fmt::format("interrupted; export {} goes on: waybill export show {}", id_, id_), false};
  }

  // A server that restarts comes back; the task is not lost by it.
  bool tolerable(const Failure& failure) {
    if (!failure.transient || clock_.boot_ms() - answered_at_ >= options_.timeout_ms) return false;
    if (!away_) console_.note(failure.message + "; trying again");
    away_ = true;
    return true;
  }

  void show(const TaskView& task, const std::string& json) {
    if (options_.json) {
      if (json != last_json_) console_.result_line(json);
      last_json_ = json;
      return;
    }
    if (console_.is_terminal()) {
      console_.bar(progress_bar(task, console_.columns(), console_.color()));
      return;
    }
    const std::string text = progress_text(task);
    const base::Millis now = clock_.boot_ms();
    const bool due = task.status != last_status_ || now - shown_at_ >= kPlainPeriodMs;
    if (due && text != last_text_ && !has_ended(task)) {
      console_.note(fmt::format("export {}: {}", task.id, text));
      shown_at_ = now;
      last_text_ = text;
    }
    last_status_ = task.status;
  }

  ApiCaller& api_;
  const std::string& id_;
  const WatchOptions& options_;
  Console& console_;
  base::SystemClock clock_;
  base::Millis answered_at_ = 0, shown_at_ = 0;
  bool away_ = false;
  std::string last_json_, last_text_, last_status_;
};

}  // namespace

std::variant<TaskView, Failure> watch_task(ApiCaller& api, const std::string& id,
                                           const WatchOptions& options, Console& console) {
  return Watcher(api, id, options, console).run();
}

std::function<bool()> catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a pause ends at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a closed connection and a limit on file sizes are errors to report
  ::signal(SIGXFSZ, SIG_IGN);
  return [] { return g_interrupted.load(); };
}

}  // namespace waybill::app::cli
