// Claiming: one conditional update that deletes the command in the same transaction.

#include <algorithm>
#include <map>
#include <utility>

#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

using core::TaskStatus;

// Stale commands that stand before good ones are removed and the pick is repeated; more than this
// many times at once would hold the writer for their sake.
constexpr int kMaxPickRounds = 4;

std::string known_list(std::span<const std::string> types) {
  JsonList list;
  for (const std::string& type : types) list.add(type);
  return list.text();
}

// The columns that claim_pick, claim_pick_sent and claim_lock have in common.
ClaimedTask claimed_from(const Rows& rows, Millis lease_ms) {
  ClaimedTask task;
  task.execution = {rows.integer(0), rows.int32(1)};
  const Millis now = rows.integer(2);
  task.kind = static_cast<core::TaskKind>(rows.integer(6));
  task.type = rows.text(7);
  task.app_code = rows.text(8);
  task.requested_by = rows.text(9);
  task.trace_id = rows.text(10);
  task.job_id = rows.optional(11);
  task.attempt = rows.int32(12) + 1;
  task.max_attempts = rows.int32(13);
  task.max_duration_ms = rows.integer(14);
  task.requested_at = rows.integer(15);
  task.started_at = now;
  task.lease_until = now + lease_ms;
  task.deadline_at = now + task.max_duration_ms;
  return task;
}

// Writes the claim of locked rows and deletes their commands; jobs run from their first claim.
void take(Session& session, std::string_view owner, Millis lease_ms,
          std::span<const ClaimedTask> tasks) {
  if (tasks.empty()) return;
  std::vector<Execution> executions;
  executions.reserve(tasks.size());
  JsonList jobs;
  std::optional<std::int64_t> last_job;
  for (const ClaimedTask& task : tasks) {
    executions.push_back(task.execution);
    if (task.job_id && task.job_id != last_job) jobs.add(*task.job_id);
    last_job = task.job_id;
  }
  const Millis now = tasks.front().started_at;
  std::int64_t changed = 0;
  for (const auto& [version, ids] : by_version(executions)) {
    const std::string list = id_list(ids);
    changed += session.run("claim_take", list, version, owner, now, lease_ms).changed();
    session.run("command_delete", list, version);
  }
  if (changed != static_cast<std::int64_t>(tasks.size())) {
    throw SqlFault(FaultKind::kFatal, "claim_take: a locked row changed under its lock");
  }
  if (!jobs.empty()) session.run("job_start", jobs.text());
}

// One pick: appends claimable tasks, removes stale commands. True when stale ones were met.
bool pick(Session& session, const ClaimNext& request, const std::string& known,
          const core::Pick& wanted, std::int64_t n, std::vector<ClaimedTask>& out) {
  const int any = request.known_types.empty() ? 1 : 0;
  std::vector<Execution> stale;
  {
    auto rows = request.sent_older_than_ms
                    ? session.run("claim_pick_sent", request.lane, wanted.level, wanted.tenant_id,
                                  any, known, n, *request.sent_older_than_ms)
                    : session.run("claim_pick", request.lane, wanted.level, wanted.tenant_id, any,
                                  known, wanted.n);
    while (rows.next()) {
      const bool current = !rows.is_null(3) && rows.integer(3) == rows.integer(1) &&
                           static_cast<TaskStatus>(rows.integer(4)) == TaskStatus::kPending;
      if (!current) {
        stale.push_back({rows.integer(0), rows.int32(1)});
        continue;
      }
      if (rows.integer(5) > rows.integer(2)) continue;  // due later than its command says
      ClaimedTask& task = out.emplace_back(claimed_from(rows, request.lease_ms));
      task.lane = request.lane;
      task.priority = wanted.level;
      task.tenant_id = wanted.tenant_id;
    }
  }
  delete_commands(session, stale);
  return !stale.empty();
}

// One pick per (level, tenant): a plan may name a tenant again and again; one statement takes its
// rows.
std::vector<core::Pick> merged_picks(std::span<const core::Pick> picks) {
  std::vector<core::Pick> merged;
  std::map<std::pair<core::Level, std::string_view>, std::size_t> at;
  for (const core::Pick& pick : picks) {
    const auto [it, fresh] = at.try_emplace({pick.level, pick.tenant_id}, merged.size());
    if (fresh) {
      merged.push_back(pick);
    } else {
      merged[it->second].n += pick.n;
    }
  }
  return merged;
}

std::size_t places(std::span<const core::Pick> picks) {
  std::size_t n = 0;
  for (const core::Pick& pick : picks)
    n += static_cast<std::size_t>(std::max<std::int64_t>(pick.n, 0));
  return n;
}

NotClaimed reason_of(std::int32_t version, std::int32_t asked, TaskStatus status, bool early) {
  if (version != asked) return NotClaimed::kVersionDiffers;
  if (status == TaskStatus::kRunning) return NotClaimed::kRunning;
  if (status == TaskStatus::kBlocked) return NotClaimed::kBlocked;
  if (status != TaskStatus::kPending) return NotClaimed::kEnded;
  return early ? NotClaimed::kEarly : NotClaimed::kLostRace;
}

}  // namespace

base::Result<std::vector<ClaimedTask>> SqlStore::claim_next(const ClaimNext& request) {
  WAYBILL_TRY(check_owner(request.owner));
  const std::string known = known_list(request.known_types);
  std::vector<ClaimedTask> claimed;
  const auto status = writer_.run("claim_next", [&](Session& session) {
    claimed.clear();
    std::vector<core::Pick> picks = merged_picks(request.picks);
    claimed.reserve(std::min(kMaxBatch, places(picks)));
    bool again = true;
    for (int round = 0; again && round < kMaxPickRounds; ++round) {
      again = false;
      const std::size_t taken = claimed.size();
      for (core::Pick& wanted : picks) {
        const std::size_t before = claimed.size();
        const auto n = std::min(wanted.n, static_cast<std::int64_t>(kMaxBatch - before));
        if (n <= 0) continue;
        if (pick(session, request, known, wanted, n, claimed)) again = true;
        wanted.n -= static_cast<std::int64_t>(claimed.size() - before);
      }
      take(session, request.owner, request.lease_ms, std::span(claimed).subspan(taken));
    }
  });
  WAYBILL_TRY(status);
  return claimed;
}

base::Result<std::vector<DeliveredOutcome>> SqlStore::claim_delivered(
    const ClaimDelivered& request) {
  WAYBILL_TRY(check_owner(request.owner));
  WAYBILL_TRY(check_batch(request.commands.size()));
  std::vector<DeliveredOutcome> outcomes;
  const auto status = writer_.run("claim_delivered", [&](Session& session) {
    outcomes.assign(request.commands.size(), {std::nullopt, NotClaimed::kNoTask});
    std::map<TaskId, std::vector<std::size_t>> asked;
    JsonList ids;
    for (std::size_t i = 0; i < request.commands.size(); ++i) {
      auto& positions = asked[request.commands[i].id];
      if (positions.empty()) ids.add(request.commands[i].id);
      positions.push_back(i);
    }
    std::vector<ClaimedTask> taken;
    {
      auto rows = session.run("claim_lock", ids.text());
      while (rows.next()) {
        bool claimable = static_cast<TaskStatus>(rows.integer(4)) == TaskStatus::kPending &&
                         rows.integer(5) <= rows.integer(2) && rows.integer(19) != 0;
        for (const std::size_t i : asked[rows.integer(0)]) {
          if (claimable && request.commands[i].version == rows.int32(3)) {
            ClaimedTask task = claimed_from(rows, request.lease_ms);
            task.lane = rows.text(16);
            task.priority = rows.int32(17);
            task.tenant_id = rows.text(18);
            taken.push_back(task);
            outcomes[i].claimed = std::move(task);
            claimable =
                false;  // a second delivery of the same command in this batch loses the race
            continue;
          }
          outcomes[i].reason = reason_of(rows.int32(3), request.commands[i].version,
                                         static_cast<TaskStatus>(rows.integer(4)),
                                         rows.integer(5) > rows.integer(2));
        }
      }
    }
    take(session, request.owner, request.lease_ms, taken);
  });
  WAYBILL_TRY(status);
  return outcomes;
}

}  // namespace waybill::store
