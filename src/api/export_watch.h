// One look a second at everything that is being watched in this process, however many people watch
// it. Nobody owns a thread for it: whichever watcher is polled first after the period does the
// looking for all.

#ifndef WAYBILL_API_EXPORT_WATCH_H_
#define WAYBILL_API_EXPORT_WATCH_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/errors.h"
#include "base/clock.h"
#include "base/result.h"
#include "core/waiting_for.h"
#include "http/server.h"
#include "registry/registry.h"
#include "store/store.h"

namespace waybill::api {

struct ApiSettings;

inline constexpr std::size_t kMaxWatchers = 5'000;  // in one process; more are refused
inline constexpr base::Millis kMaxWatchMs =
    3'600'000;  // then the stream ends and a client comes back
// Where a waiting task stands costs a statement each: this many are asked for with every look, in
// turn.
inline constexpr std::size_t kQueuePlacesPerLook = 4;

// Thread-safe. Outlives the streams it made.
class ExportWatch {
 public:
  ExportWatch(store::TaskStore& tasks, const registry::Registry& registry, const base::Clock& clock,
              const ApiSettings& settings);

  // A stream of "task" events that starts with `row` and ends after the terminal state. The caller
  // has checked that the task may be seen. kUnavailable (code OVERLOADED) beyond kMaxWatchers.
  base::Result<std::unique_ptr<http::EventSource>> open(const store::ExportRow& row,
                                                        Language language);

 private:
  class Stream;
  // What is known of one task. Streams keep the texts they are sending alive.
  struct Watched {
    store::ExportRow row;
    std::vector<store::AttemptRow> attempts;
    std::optional<core::WaitingFor> waiting_for;
    base::Millis seen_ms = 0;  // the wall clock of the look
    bool stale = true;         // attempts and place have to be read
    bool gone = false;         // the row was deleted
    std::size_t watchers = 0;
    std::uint64_t change = 1;  // raised with every difference that a watcher can see
    std::array<std::shared_ptr<const std::string>, 2>
        text;  // by language, made when first asked for
  };

  void leave(core::TaskId id);
  void look_if_due();
  void look(const std::vector<core::TaskId>& ids);
  void take_row(store::ExportRow row, base::Millis now);
  void read_extras(core::TaskId id);
  std::vector<core::TaskId> pick_for_extras();
  // Appends an event when the task differs from what the stream saw last. True when it has ended.
  bool report(core::TaskId id, Language language, std::uint64_t& seen_change, std::string& out);
  [[nodiscard]] std::shared_ptr<const std::string> text_of(Watched& watched,
                                                           Language language) const;

  store::TaskStore& tasks_;
  const registry::Registry& registry_;
  const base::Clock& clock_;
  const ApiSettings& settings_;
  std::mutex looking_;           // held by the one who looks; the others go on without waiting
  base::Millis looked_ms_ = 0;   // guarded by looking_
  core::TaskId last_place_ = 0;  // guarded by looking_: whose queue place was read last
  std::mutex mutex_;
  std::map<core::TaskId, Watched> watched_;
  std::size_t watchers_ = 0;
};

}  // namespace waybill::api

#endif  // WAYBILL_API_EXPORT_WATCH_H_
