#include "tests/sim/world.h"

#include <sqlite3.h>

#include <cstdio>
#include <utility>

#include "base/check.h"
#include "store/sqlite/open.h"
#include "tests/sim/crew.h"
#include "tests/sim/process.h"
#include "tests/sim/rules.h"
#include "tests/sim/storage.h"

namespace waybill::sim {
namespace {

constexpr std::size_t kLinesKept = 400;

std::string time_text(Millis at) {
  char text[32];
  std::snprintf(text, sizeof text, "%4lld:%02lld:%02lld.%03lld",
                static_cast<long long>(at / 3'600'000), static_cast<long long>(at / 60'000 % 60),
                static_cast<long long>(at / 1'000 % 60), static_cast<long long>(at % 1'000));
  return text;
}

}  // namespace

void Book::note(Millis at, const std::string& line) {
  lines_.push_back(time_text(at) + "  " + line);
  for (const char c : lines_.back())
    fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
  if (follow_) std::puts(lines_.back().c_str());
  if (lines_.size() > kLinesKept) lines_.pop_front();
}

void Book::note_task(Millis at, core::TaskId task, const std::string& line) {
  note(at, "task " + std::to_string(task) + "  " + line);
  stories_[task].push_back(time_text(at) + "  " + line);
}

const std::vector<std::string>& Book::story_of(core::TaskId task) const {
  static const std::vector<std::string> kNone;
  const auto it = stories_.find(task);
  return it == stories_.end() ? kNone : it->second;
}

World::World(std::uint64_t seed, bool follow)
    : scheduler(seed),
      book(follow),
      broker(scheduler.clock, scheduler.random),
      begin_(scheduler.now()) {
  faults = draw_faults(scheduler);
  broker.set_faults(faults.broker);
  faulty = false;
  store::SqliteOptions options;
  options.path = ":memory:";
  options.on_connection = [this](void* handle) { database_ = static_cast<sqlite3*>(handle); };
  auto opened = store::open_sqlite(
      options, store::Seams{.database_clock = scheduler.clock,
                            .random = scheduler.random,
                            .before_statement = [this](const auto& p) { return before(p); }});
  WAYBILL_CHECK(opened.ok(), "the database in memory cannot be opened");
  store = std::move(opened).value();
  WAYBILL_CHECK(store->migrate().ok(), "the database in memory cannot be migrated");
  store->on_commit([this](std::span<const store::CommandHint> hints) {
    if (acting != nullptr) acting->committed(hints);
  });
  storage = std::make_unique<Storage>(*this);
  rules = std::make_unique<Rules>(*this);
  crew = std::make_unique<Crew>(*this);
  faulty = true;
}

World::~World() = default;

void World::violate(std::string invariant, core::TaskId task, std::string what) {
  if (violation) return;
  violation = Violation{std::move(invariant), task, std::move(what)};
  note_task(task, "VIOLATION of " + violation->invariant + ": " + violation->what);
}

std::vector<std::vector<std::string>> World::sql(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  sqlite3_stmt* statement = nullptr;
  const int prepared = sqlite3_prepare_v2(database_, text.c_str(), -1, &statement, nullptr);
  WAYBILL_CHECK(prepared == SQLITE_OK, text.c_str());
  while (sqlite3_step(statement) == SQLITE_ROW) {
    auto& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      row.emplace_back(value != nullptr ? value : "");
    }
  }
  sqlite3_finalize(statement);
  return rows;
}

void World::observe(const Process* by, std::string_view operation) {
  const int changes = sqlite3_total_changes(database_);
  if (changes == seen_changes_) return;
  rules->look(by, operation);
  seen_changes_ = sqlite3_total_changes(database_);
}

store::Injected World::before(const store::StatementPoint& point) {
  using store::Injected;
  if (!faulty || acting == nullptr) return Injected::kNone;
  if (scheduler.now() < database_away_until) {
    acting->disturb();
    return Injected::kAway;
  }
  Injected how = Injected::kNone;
  if (point.statement == "commit") {
    if (scheduler.chance(faults.unknown_lost)) how = Injected::kUnknownLost;
    if (scheduler.chance(faults.unknown_done)) how = Injected::kUnknownDone;
  }
  if (scheduler.chance(faults.statement_retry)) how = Injected::kRetry;
  if (scheduler.chance(faults.statement_away)) how = Injected::kAway;
  if (scheduler.chance(faults.statement_fatal)) how = Injected::kFatal;
  if (how != Injected::kNone) acting->disturb();
  return how;
}

}  // namespace waybill::sim
