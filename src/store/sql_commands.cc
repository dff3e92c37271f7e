// The publisher's leases and settlements, and the burial of damaged messages.

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

base::Result<std::vector<SentCount>> SqlStore::sent_counts() {
  std::vector<SentCount> counts;
  const auto status = readers_.run("sent_counts", [&](Session& session) {
    counts.clear();
    auto rows = session.run("sent_counts");
    while (rows.next()) counts.push_back({rows.string(0), rows.int32(1), rows.integer(2)});
  });
  WAYBILL_TRY(status);
  return counts;
}

base::Result<std::vector<Command>> SqlStore::lease_commands(const LeaseCommands& request) {
  WAYBILL_TRY(check_owner(request.owner));
  std::vector<Command> leased;
  const auto status = writer_.run("lease_commands", [&](Session& session) {
    leased.clear();
    auto left = static_cast<std::int64_t>(kMaxBatch);
    for (const core::Pick& wanted : request.picks) {
      const std::int64_t n = std::min(wanted.n, left);
      if (n <= 0) continue;
      JsonRows taken;
      Millis now = 0;
      {
        auto rows = session.run("command_pick", request.lane, wanted.level, wanted.tenant_id, n);
        while (rows.next()) {
          leased.push_back({.execution = {rows.integer(0), rows.int32(1)},
                            .event_id = rows.string(2),
                            .kind = static_cast<core::TaskKind>(rows.integer(3)),
                            .type = rows.string(4),
                            .lane = request.lane,
                            .priority = wanted.level,
                            .attempt = rows.int32(5) + 1,
                            .fail_count = rows.int32(6),
                            .trace_id = rows.string(8),
                            .occurred_at = rows.integer(7)});
          now = rows.integer(9);
          taken.add(rows.integer(0), rows.integer(1));
          --left;
        }
      }
      if (!taken.empty())
        session.run("command_lease", request.owner, now + request.lease_ms, taken.text());
    }
  });
  WAYBILL_TRY(status);
  return leased;
}

base::Result<std::int64_t> SqlStore::settle_commands(std::string_view owner,
                                                     std::span<const SettleCommand> items) {
  WAYBILL_TRY(check_owner(owner));
  WAYBILL_TRY(check_batch(items.size()));
  JsonRows sent;
  JsonRows failed;
  for (const SettleCommand& item : items) {
    const auto [id, version] = item.execution;
    if (item.sent) {
      sent.add(id, version, item.attempt);
    } else {
      failed.add(id, version, item.attempt, item.retry_in_ms,
                 base::printable(item.error, kMaxCommandError));
    }
  }
  std::int64_t changed = 0;
  const auto status = writer_.run("settle_commands", [&](Session& session) {
    changed = 0;
    if (!sent.empty()) changed += session.run("command_sent", owner, sent.text()).changed();
    if (!failed.empty()) changed += session.run("command_failed", owner, failed.text()).changed();
  });
  WAYBILL_TRY(status);
  return changed;
}

namespace {

struct LockedCommand {
  std::string event_id;
  core::CommandStatus status = core::CommandStatus::kPending;
};

std::optional<LockedCommand> lock_command(Session& session, const Execution& e) {
  auto rows = session.run("command_lock", e.id, e.version);
  if (!rows.next()) return std::nullopt;
  return LockedCommand{rows.string(0), static_cast<core::CommandStatus>(rows.integer(1))};
}

}  // namespace

base::Result<DeadLetterOutcome> SqlStore::quarantine(const DeadLetter& letter) {
  DeadLetterOutcome outcome = DeadLetterOutcome::kNoTask;
  CommandHints hints;
  const TaskId id = letter.execution.id;
  const std::string reason = base::printable(letter.reason, kMaxCommandError);
  const auto status = writer_.run("quarantine", [&](Session& session) {
    hints.clear();
    Transitions::lock_slots(session, Transitions::serial_keys(session, std::span(&id, 1)));
    std::vector<LockedTask> tasks = Transitions::lock_tasks(session, std::span(&id, 1));
    outcome = DeadLetterOutcome::kNoTask;
    if (tasks.empty()) return;
    const auto command = lock_command(session, letter.execution);
    if (command && command->status == core::CommandStatus::kQuarantined) {
      outcome = DeadLetterOutcome::kAlreadyQuarantined;
      return;
    }
    core::Change change = transitions_.decide(tasks.front(), core::Event::kQuarantine);
    outcome = DeadLetterOutcome::kMovedOn;
    if (tasks.front().version != letter.execution.version || change.refused()) return;
    outcome = DeadLetterOutcome::kEventDiffers;
    if (!command || command->event_id != letter.event_id) return;
    outcome = DeadLetterOutcome::kQuarantined;
    std::vector<Transition> changes;
    changes.push_back({std::move(tasks.front()), core::Event::kQuarantine, std::move(change)});
    session.run("command_quarantine", letter.execution.id, letter.execution.version, reason);
    transitions_.apply(session, changes, hints);
  });
  WAYBILL_TRY(status);
  tell(hints);
  return outcome;
}

}  // namespace waybill::store
