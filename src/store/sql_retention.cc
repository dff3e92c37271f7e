// Files whose time is over, and rows that nobody needs any more.

#include <algorithm>
#include <utility>

#include "store/fields.h"
#include "store/history.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

constexpr std::int64_t kHistoryWindow = 5'000;  // rows looked at per transaction
constexpr std::int64_t kMaxKeys = 1'000;        // object keys per statement

}  // namespace

void delete_history(Session& session, std::span<const TaskId> ids) {
  if (ids.empty()) return;
  const std::string list = id_list(ids);
  session.run("history_delete_commands", list);
  session.run("history_delete_exports", list);
  session.run("history_delete_items", list);
  session.run("history_delete_attempts", list);
  session.run("history_delete_tasks", list);
}

base::Result<std::vector<ExpiredFile>> SqlStore::expired_files(std::string_view storage_id,
                                                               Millis grace_ms, const Walk& walk) {
  std::vector<ExpiredFile> files;
  const auto status = readers_.run("expired_files", [&](Session& session) {
    files.clear();
    auto rows = session.run("expired_files", storage_id, grace_ms, walk.after,
                            std::max<std::int64_t>(walk.limit, 1));
    while (rows.next()) files.push_back({rows.integer(0), rows.string(1)});
  });
  WAYBILL_TRY(status);
  return files;
}

base::Result<std::int64_t> SqlStore::mark_expired(std::span<const TaskId> ids) {
  std::int64_t marked = 0;
  CommandHints hints;
  const auto status = writer_.run("mark_expired", [&](Session& session) {
    hints.clear();
    std::vector<Transition> changes;
    std::vector<TaskId> gone;
    for (LockedTask& task : Transitions::lock_tasks(session, ids)) {
      core::Change change = transitions_.decide(task, core::Event::kExpire);
      if (change.refused()) continue;
      gone.push_back(task.id);
      changes.push_back({std::move(task), core::Event::kExpire, std::move(change)});
    }
    marked = static_cast<std::int64_t>(changes.size());
    transitions_.apply(session, changes, hints);
    if (!gone.empty()) session.run("export_forget_object", id_list(gone));
  });
  WAYBILL_TRY(status);
  return marked;
}

base::Result<std::vector<std::string>> SqlStore::recorded_keys(std::span<const std::string> keys) {
  if (static_cast<std::int64_t>(keys.size()) > kMaxKeys) {
    return base::over_limit("keys", kMaxKeys, "elements", static_cast<std::int64_t>(keys.size()),
                            "at most 1000 keys may be asked for at once");
  }
  JsonList list;
  for (const std::string& key : keys) list.add(key);
  std::vector<std::string> found;
  const auto status = readers_.run("recorded_keys", [&](Session& session) {
    found.clear();
    auto rows = session.run("recorded_keys", list.text());
    while (rows.next()) found.push_back(rows.string(0));
  });
  WAYBILL_TRY(status);
  return found;
}

base::Result<std::int64_t> SqlStore::delete_old_sent_commands(Millis older_than_ms,
                                                              std::int64_t limit) {
  std::int64_t deleted = 0;
  const auto status = writer_.run("delete_old_sent_commands", [&](Session& session) {
    deleted = 0;
    JsonRows old;
    {
      auto rows = session.run("old_sent", older_than_ms, limit);
      while (rows.next()) old.add(rows.integer(0), rows.integer(1));
    }
    if (!old.empty()) deleted = session.run("command_remove", old.text()).changed();
  });
  WAYBILL_TRY(status);
  return deleted;
}

base::Result<std::int64_t> SqlStore::delete_old_idempotency(std::int64_t limit) {
  std::int64_t deleted = 0;
  const auto status = writer_.run("delete_old_idempotency", [&](Session& session) {
    deleted = 0;
    JsonRows old;
    {
      auto rows = session.run("old_idempotency", limit);
      while (rows.next()) old.add(rows.text(0), rows.text(1), rows.text(2));
    }
    if (!old.empty()) deleted = session.run("idempotency_remove", old.text()).changed();
  });
  WAYBILL_TRY(status);
  return deleted;
}

// Walks by id, because finished rows are in no index by time; it stops at the first window without
// an old row. The place is kept between calls, so rows that may not go yet are not read again and
// again.
base::Result<std::int64_t> SqlStore::delete_old_tasks(Millis older_than_ms, std::int64_t limit) {
  const std::lock_guard lock(history_mutex_);
  std::int64_t deleted = 0;
  for (bool end = false; !end && deleted < limit;) {
    TaskId last = 0;
    std::int64_t gone = 0;
    const auto status = writer_.run("delete_old_tasks", [&](Session& session) {
      std::vector<TaskId> ids;
      bool old = false;
      last = 0;
      {
        auto rows = session.run("history_walk", history_after_, older_than_ms, kHistoryWindow);
        while (static_cast<std::int64_t>(ids.size()) < limit - deleted && rows.next()) {
          last = rows.integer(0);
          old = old || rows.integer(1) != 0;
          if (rows.integer(2) != 0) ids.push_back(last);
        }
      }
      delete_history(session, ids);
      if (!old) session.run("history_delete_jobs", older_than_ms);
      gone = static_cast<std::int64_t>(ids.size());
      end = !old;
    });
    WAYBILL_TRY(status);
    deleted += gone;
    history_after_ = end ? 0 : last;
  }
  return deleted;
}

}  // namespace waybill::store
