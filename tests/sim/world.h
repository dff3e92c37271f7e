// What the processes of a run share: time, the database, the broker, the storage, the providers,
// the faults of this seed, and the book in which everything is noted.

#ifndef WAYBILL_TESTS_SIM_WORLD_H_
#define WAYBILL_TESTS_SIM_WORLD_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.h"
#include "store/seams.h"
#include "store/store.h"
#include "tests/sim/faults.h"
#include "tests/sim/scheduler.h"
#include "transport/memory/memory_broker.h"

struct sqlite3;

namespace waybill::sim {

class Rules;
class Storage;
class Process;
class Crew;

// The first rule that was broken; later ones are mostly its consequences.
struct Violation {
  std::string invariant;  // "I6"
  core::TaskId task = 0;  // 0: none in particular
  std::string what;
};

// Lines of the run, newest last. `follow` prints them as they come.
class Book {
 public:
  explicit Book(bool follow) : follow_(follow) {}
  void note(Millis at, const std::string& line);
  void note_task(Millis at, core::TaskId task, const std::string& line);
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }
  // Over all lines so far: equal runs have equal ones.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
  [[nodiscard]] const std::vector<std::string>& story_of(core::TaskId task) const;

 private:
  const bool follow_;
  std::deque<std::string> lines_;
  std::uint64_t fingerprint_ = 14'695'981'039'346'656'037u;  // FNV-1a
  std::map<core::TaskId, std::vector<std::string>> stories_;
};

class World {
 public:
  World(std::uint64_t seed, bool follow);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void violate(std::string invariant, core::TaskId task, std::string what);
  void note(const std::string& line) { book.note(scheduler.now() - begin_, line); }
  void note_task(core::TaskId task, const std::string& line) {
    book.note_task(scheduler.now() - begin_, task, line);
  }
  // One reading or writing statement beside the store, between its transactions.
  std::vector<std::vector<std::string>> sql(const std::string& text);

  // What a store operation did is looked at when it ends; `by` is null for the sim's own changes.
  void observe(const Process* by, std::string_view operation);

  Scheduler scheduler;
  Book book;
  Faults faults;
  bool faulty = true;  // false while the run is healed
  Millis database_away_until = 0;
  Millis storage_away_until = 0;
  Millis provider_away_until = 0;
  transport::MemoryBroker broker;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<Rules> rules;
  std::unique_ptr<Crew> crew;
  std::optional<Violation> violation;
  // Whose operation runs in the store now; commits of it wake him alone, as in real life.
  Process* acting = nullptr;
  // Executions that somebody started: how often.
  std::map<core::Execution, int> starts;

 private:
  store::Injected before(const store::StatementPoint& point);
  const Millis begin_;
  sqlite3* database_ = nullptr;
  int seen_changes_ = 0;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_WORLD_H_
