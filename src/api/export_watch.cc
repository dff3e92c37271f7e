#include "api/export_watch.h"

#include <algorithm>
#include <utility>

#include "api/api.h"
#include "api/task_view.h"
#include "base/json_writer.h"
#include "base/log.h"

namespace waybill::api {
namespace {

bool same(const store::ExportRow& a, const store::ExportRow& b) {
  const store::TaskRow& x = a.task;
  const store::TaskRow& y = b.task;
  return x.status == y.status && x.dispatch_version == y.dispatch_version &&
         x.attempt_count == y.attempt_count && x.due_at == y.due_at &&
         x.cancel_requested == y.cancel_requested && x.failure_message == y.failure_message &&
         x.started_at == y.started_at && x.completed_at == y.completed_at &&
         a.progress_version == b.progress_version && a.processed_rows == b.processed_rows &&
         a.total_rows == b.total_rows && a.sha256 == b.sha256 && a.expires_at == b.expires_at;
}

bool same_attempt(const store::TaskRow& x, const store::TaskRow& y) {
  return x.status == y.status && x.dispatch_version == y.dispatch_version && x.due_at == y.due_at;
}

bool same_place(const std::optional<core::WaitingFor>& a,
                const std::optional<core::WaitingFor>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->code == b->code && a->until == b->until && a->ahead == b->ahead &&
         a->message_en == b->message_en;
}

}  // namespace

// One watcher's stream.
class ExportWatch::Stream final : public http::EventSource {
 public:
  Stream(ExportWatch& watch, core::TaskId id, Language language)
      : watch_(watch),
        id_(id),
        language_(language),
        started_ms_(watch.clock_.boot_ms()),
        sent_ms_(started_ms_) {}
  ~Stream() override { watch_.leave(id_); }

  Next next(std::string& out) override {
    watch_.look_if_due();
    const base::Millis now = watch_.clock_.boot_ms();
    if (watch_.report(id_, language_, seen_change_, out)) return Next::kEnd;
    if (!out.empty()) {
      sent_ms_ = now;
    } else if (now - sent_ms_ >= watch_.settings_.watch_comment_ms) {
      out += ": still here\n\n";
      sent_ms_ = now;
    }
    return now - started_ms_ >= kMaxWatchMs ? Next::kEnd : Next::kMore;
  }

 private:
  ExportWatch& watch_;
  const core::TaskId id_;
  const Language language_;
  const base::Millis started_ms_;
  base::Millis sent_ms_;
  std::uint64_t seen_change_ = 0;
};

ExportWatch::ExportWatch(store::TaskStore& tasks, const registry::Registry& registry,
                         const base::Clock& clock, const ApiSettings& settings)
    : tasks_(tasks), registry_(registry), clock_(clock), settings_(settings) {}

base::Result<std::unique_ptr<http::EventSource>> ExportWatch::open(const store::ExportRow& row,
                                                                   Language language) {
  {
    const std::lock_guard lock(mutex_);
    if (watchers_ >= kMaxWatchers) {
      base::Error error = base::unavailable("too many event streams");
      error.code = "OVERLOADED";
      return error;
    }
    ++watchers_;
    ++watched_[row.task.id].watchers;
  }
  take_row(row, clock_.wall_ms());
  read_extras(row.task.id);
  return std::unique_ptr<http::EventSource>(new Stream(*this, row.task.id, language));
}

void ExportWatch::leave(core::TaskId id) {
  const std::lock_guard lock(mutex_);
  --watchers_;
  const auto at = watched_.find(id);
  if (--at->second.watchers == 0) watched_.erase(at);
}

void ExportWatch::look_if_due() {
  const std::unique_lock looking(looking_, std::try_to_lock);
  if (!looking.owns_lock()) return;
  const base::Millis now = clock_.boot_ms();
  if (looked_ms_ != 0 && now - looked_ms_ < settings_.watch_period_ms) return;
  looked_ms_ = now;
  std::vector<core::TaskId> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, watched] : watched_) {
      if (!watched.gone && !core::is_ended(watched.row.task.status)) ids.push_back(id);
    }
  }
  if (!ids.empty()) look(ids);
  for (const core::TaskId id : pick_for_extras()) read_extras(id);
}

void ExportWatch::look(const std::vector<core::TaskId>& ids) {
  auto rows = tasks_.watch_exports(ids);
  if (!rows.ok()) {
    base::log(base::LogLevel::kWarn, "export_watch_failed", {{"error", rows.error().message}});
    return;  // the streams stay open; the next look may work
  }
  const base::Millis now = clock_.wall_ms();
  std::vector<core::TaskId> found;
  for (store::ExportRow& row : *rows) {
    found.push_back(row.task.id);
    take_row(std::move(row), now);
  }
  std::ranges::sort(found);
  const std::lock_guard lock(mutex_);
  for (const core::TaskId id : ids) {
    const auto at = watched_.find(id);
    if (at != watched_.end() && !std::ranges::binary_search(found, id)) at->second.gone = true;
  }
}

void ExportWatch::take_row(store::ExportRow row, base::Millis now) {
  const std::lock_guard lock(mutex_);
  const auto at = watched_.find(row.task.id);
  if (at == watched_.end()) return;
  Watched& watched = at->second;
  watched.seen_ms = now;
  if (watched.row.task.id != 0 && same(watched.row, row)) return;
  watched.stale = watched.stale || !same_attempt(watched.row.task, row.task);
  watched.row = std::move(row);
  watched.text = {};
  ++watched.change;
}

// What changed comes first; the places of those that wait are read again in turn.
std::vector<core::TaskId> ExportWatch::pick_for_extras() {
  const std::lock_guard lock(mutex_);
  std::vector<core::TaskId> picked;
  for (const auto& [id, watched] : watched_) {
    if (watched.stale && !watched.gone) picked.push_back(id);
  }
  std::size_t places = 0;
  const auto visit = [&](auto from, auto to) {
    for (auto at = from; at != to && places < kQueuePlacesPerLook; ++at) {
      if (at->second.stale || at->second.gone || !needs_waiting_facts(at->second.row.task.status))
        continue;
      picked.push_back(at->first);
      last_place_ = at->first;
      ++places;
    }
  };
  const auto middle = watched_.upper_bound(last_place_);
  visit(middle, watched_.end());
  visit(watched_.begin(), middle);
  return picked;
}

void ExportWatch::read_extras(core::TaskId id) {
  store::ExportRow row;
  {
    const std::lock_guard lock(mutex_);
    const auto at = watched_.find(id);
    if (at == watched_.end()) return;
    row = at->second.row;
  }
  auto attempts = tasks_.attempts(id);
  store::WaitingFacts facts;
  facts.now = clock_.wall_ms();
  if (needs_waiting_facts(row.task.status)) {
    auto read = tasks_.waiting_facts(id);
    if (!read.ok()) return;
    facts = std::move(read).value();
  }
  if (!attempts.ok()) return;
  auto waiting = waiting_for_row(row, facts, *registry_.current(), settings_.time_zone);
  const std::lock_guard lock(mutex_);
  const auto at = watched_.find(id);
  if (at == watched_.end() || !same_attempt(at->second.row.task, row.task))
    return;  // moved on: read again
  Watched& watched = at->second;
  if (watched.stale || !same_place(watched.waiting_for, waiting)) {
    watched.text = {};
    ++watched.change;
  }
  watched.attempts = std::move(attempts).value();
  watched.waiting_for = std::move(waiting);
  watched.stale = false;
}

std::shared_ptr<const std::string> ExportWatch::text_of(Watched& watched, Language language) const {
  auto& text = watched.text.at(language == Language::kChinese ? 1 : 0);
  if (text == nullptr) {
    const auto snapshot = registry_.current();
    base::JsonWriter json;
    const TaskExtras extras{watched.attempts, watched.waiting_for, false};
    write_task(json, {language, settings_.time_zone, *snapshot, watched.seen_ms}, watched.row,
               &extras);
    text = std::make_shared<const std::string>("event: task\ndata: " + json.take() + "\n\n");
  }
  return text;
}

bool ExportWatch::report(core::TaskId id, Language language, std::uint64_t& seen_change,
                         std::string& out) {
  const std::lock_guard lock(mutex_);
  Watched& watched = watched_.at(id);
  if (watched.gone) return true;
  // A new state is told together with its reasons, which are read in the same look.
  if (watched.stale && seen_change != 0) return false;
  if (watched.change != seen_change) {
    out += *text_of(watched, language);
    seen_change = watched.change;
  }
  return core::is_ended(watched.row.task.status) && !watched.stale;
}

}  // namespace waybill::api
