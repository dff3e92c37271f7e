// Creating exports: guards, idempotency, the window of equal requests, limits. One batch is decided
// in memory under the guards' locks, request by request, so that creates of one batch see each
// other.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "store/create.h"
#include "store/fields.h"
#include "store/guards.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

using User = std::tuple<std::string, std::string, std::string>;            // tenant, app, user
using TypeScope = std::pair<std::string, std::string>;                     // type, tenant
using IdempotencyKey = std::tuple<std::string, std::string, std::string>;  // tenant, user, key
using Equal = std::tuple<User, std::string, std::string>;  // user, type, parameters' hash

struct Remembered {
  std::string request_hash;
  TaskId resource = 0;
  Millis expires_at = 0;
  bool kept = true;  // the resource has not been deleted since
};
struct Recent {
  TaskId id = 0;
  Millis requested_at = 0;
};

User user_of(const CreateExport& r) {
  return {r.task.tenant_id, r.task.app_code, r.task.requested_by};
}
IdempotencyKey key_of(const CreateExport& r) {
  return {r.task.tenant_id, r.task.requested_by, r.idempotency_key};
}

base::Error limit_error(std::string code, std::string field, std::int64_t limit,
                        std::int64_t actual, std::string message) {
  base::Error error =
      base::over_limit(std::move(field), limit, "tasks", actual, std::move(message));
  error.code = std::move(code);
  return error;
}

// What the database says, read once under the guards, and what the batch adds to it.
class CreateDecisions {
 public:
  using Requests = std::span<const CreateExport* const>;

  CreateDecisions(Session& session, Requests requests) : requests_(requests) {
    lock_guards(session);
    read_idempotency(session);
    read_users(session);
    read_types(session);
  }

  // One answer per request; the i-th id is used if the i-th request becomes a task.
  std::vector<base::Result<Created>> decide(std::span<const TaskId> ids) {
    std::vector<base::Result<Created>> answers;
    answers.reserve(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      answers.push_back(decide_one(*requests_[i], ids[i]));
      if (!answers.back().ok()) continue;
      if (!answers.back()->deduplicated) made_.push_back(i);
      remember_key(*requests_[i], answers.back()->id);
    }
    return answers;
  }

  [[nodiscard]] const std::vector<std::size_t>& made() const { return made_; }
  [[nodiscard]] const JsonRows& new_keys() const { return new_keys_; }

 private:
  void lock_guards(Session& session) {
    std::set<std::string> scopes;
    for (const CreateExport* r : requests_) {
      scopes.insert(user_guard(user_shard(r->task.tenant_id, r->task.requested_by)));
      scopes.insert(type_guard(r->task.type));
    }
    JsonList list;
    for (const std::string& scope : scopes) list.add(scope);
    auto rows = session.run("guard_lock", list.text());
    while (rows.next()) {
      scopes.erase(rows.string(0));
      now_ = rows.integer(1);
    }
    missing_guards_ = std::move(scopes);
  }

  void read_idempotency(Session& session) {
    JsonRows keys;
    for (const CreateExport* r : requests_) {
      if (!r->idempotency_key.empty())
        keys.add(r->task.tenant_id, r->task.requested_by, r->idempotency_key);
    }
    if (keys.empty()) return;
    auto rows = session.run("idempotency_find", keys.text());
    while (rows.next()) {
      if (rows.integer(5) <= now_) continue;  // expired: overwritten
      remembered_[{rows.string(0), rows.string(1), rows.string(2)}] = {
          rows.string(3), rows.integer(4), rows.integer(5), rows.integer(6) != 0};
    }
  }

  void read_users(Session& session) {
    std::set<User> users;
    for (const CreateExport* r : requests_) users.insert(user_of(*r));
    JsonRows list;
    for (const auto& [tenant, app, user] : users) list.add(tenant, app, user);
    auto rows = session.run("active_of_users", list.text());
    while (rows.next()) {
      const User user{rows.string(2), rows.string(3), rows.string(4)};
      ++active_of_user_[user];
      note_recent({user, rows.string(1), rows.string(6)}, {rows.integer(0), rows.integer(5)});
    }
  }

  void read_types(Session& session) {
    std::set<std::string> types;
    for (const CreateExport* r : requests_) types.insert(r->task.type);
    JsonList list;
    for (const std::string& type : types) list.add(type);
    auto rows = session.run("active_of_types", list.text());
    while (rows.next()) add_type(rows.string(0), rows.string(1), rows.integer(2));
  }

  void note_recent(const Equal& equal, const Recent& recent) {
    Recent& known = recent_[equal];
    if (recent.requested_at >= known.requested_at) known = recent;
  }

  void add_type(const std::string& type, const std::string& tenant, std::int64_t n) {
    active_of_type_[{type, tenant}] += n;
    active_of_type_everywhere_[type] += n;
  }

  base::Result<Created> decide_one(const CreateExport& r, TaskId id) {
    for (const std::string& scope :
         {user_guard(user_shard(r.task.tenant_id, r.task.requested_by)), type_guard(r.task.type)}) {
      if (missing_guards_.contains(scope)) {
        return base::internal("the row '" + scope + "' of table create_guard is missing; " +
                              (scope.starts_with(type_guard(""))
                                   ? "it is made when the registry is loaded"
                                   : "run waybill migrate"));
      }
    }
    if (!r.idempotency_key.empty()) {
      const auto it = remembered_.find(key_of(r));
      if (it != remembered_.end()) {
        if (it->second.request_hash != r.request_hash) {
          return base::conflict("IDEMPOTENCY_KEY_REUSED",
                                "this idempotency key was used for another request");
        }
        if (it->second.kept) return Created{it->second.resource, true};
        remembered_.erase(it);  // retention took the task: nothing is there to answer with
      }
    }
    const User user = user_of(r);
    const Equal equal{user, r.task.type, r.parameters_hash};
    if (const auto it = recent_.find(equal);
        it != recent_.end() && it->second.requested_at > now_ - r.limits.dedup_window_ms) {
      return Created{it->second.id, true};
    }
    const std::int64_t of_user = active_of_user_[user];
    if (of_user >= r.limits.active_per_user) {
      return limit_error("EXPORT_USER_LIMIT", "activePerUser", r.limits.active_per_user, of_user,
                         "you already have " + std::to_string(of_user) + " unfinished exports");
    }
    const std::int64_t of_type = r.limits.type_limit_global
                                     ? active_of_type_everywhere_[r.task.type]
                                     : active_of_type_[{r.task.type, r.task.tenant_id}];
    if (of_type >= r.limits.active_per_type) {
      return limit_error(
          "EXPORT_TYPE_LIMIT", "activePerType", r.limits.active_per_type, of_type,
          "there are already " + std::to_string(of_type) + " unfinished exports of this type");
    }
    ++active_of_user_[user];
    add_type(r.task.type, r.task.tenant_id, 1);
    note_recent(equal, {id, now_});
    return Created{id, false};
  }

  // A request answered through the window stores its key too.
  void remember_key(const CreateExport& r, TaskId id) {
    if (r.idempotency_key.empty()) return;
    const Remembered remembered{r.request_hash, id, now_ + r.limits.idempotency_keep_ms, true};
    if (!remembered_.try_emplace(key_of(r), remembered).second) return;
    new_keys_.add(r.task.tenant_id, r.task.requested_by, r.idempotency_key, r.request_hash, id,
                  remembered.expires_at);
  }

  Requests requests_;
  Millis now_ = 0;
  std::set<std::string> missing_guards_;
  std::map<IdempotencyKey, Remembered> remembered_;
  std::map<User, std::int64_t> active_of_user_;
  std::map<TypeScope, std::int64_t> active_of_type_;
  std::map<std::string, std::int64_t> active_of_type_everywhere_;
  std::map<Equal, Recent> recent_;
  std::vector<std::size_t> made_;
  JsonRows new_keys_;
};

// What a batch's transaction decided; kept outside it for the case that its answer is lost.
struct CreateBatch {
  std::vector<base::Result<Created>> answers;
  std::vector<const NewTask*> tasks;
  std::vector<TaskId> ids;
};

void run_create(Session& session, const Transitions& transitions,
                std::span<const CreateExport* const> requests, std::span<const TaskId> ids,
                CreateBatch& batch, CommandHints& hints) {
  batch = {};
  CreateDecisions decisions(session, requests);
  batch.answers = decisions.decide(ids);
  JsonRows exports;
  for (const std::size_t i : decisions.made()) {
    const CreateExport& r = *requests[i];
    batch.tasks.push_back(&r.task);
    batch.ids.push_back(ids[i]);
    exports.add(ids[i], r.task_name, r.format, r.parameters_json, r.parameters_hash);
  }
  if (!decisions.new_keys().empty()) session.run("idempotency_put", decisions.new_keys().text());
  if (batch.tasks.empty()) return;
  insert_new_tasks(session, transitions, batch.tasks, batch.ids, hints);
  session.run("export_insert", exports.text());
}

}  // namespace

base::Result<Created> SqlStore::create_export(const CreateExport& request) {
  WAYBILL_TRY(check_export(request));
  return export_collector_.submit(request);
}

std::vector<base::Result<Created>> SqlStore::create_export_batch(
    std::span<const CreateExport* const> requests) {
  CreateBatch batch;
  CommandHints hints;
  const auto status =
      with_new_ids(ids_, requests.size(), [&](std::span<const TaskId> ids, bool replay) {
        return writer_.run("create_export", [&](Session& session) {
          hints.clear();
          if (replay && !batch.ids.empty() && all_present(session, batch.tasks, batch.ids)) return;
          run_create(session, transitions_, requests, ids, batch, hints);
        });
      });
  if (status.ok()) {
    tell(hints);
    return std::move(batch.answers);
  }
  const bool splits = status.error().category == base::ErrorCategory::kInternal ||
                      status.error().category == base::ErrorCategory::kConflict;
  if (requests.size() == 1 || !splits)
    return std::vector<base::Result<Created>>(requests.size(), status.error());
  auto first = create_export_batch(requests.first(requests.size() / 2));
  auto second = create_export_batch(requests.subspan(requests.size() / 2));
  std::move(second.begin(), second.end(), std::back_inserter(first));
  return first;
}

}  // namespace waybill::store
