// Renewing leases and the poll.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

base::Result<RenewReport> SqlStore::renew(const Renew& request) {
  WAYBILL_TRY(check_owner(request.owner));
  RenewReport report;
  const auto body = [&](Session& session) {
    report = {};
    report.outcomes.assign(request.executions.size(), RenewOutcome::kLost);
    std::map<Execution, std::size_t> asked;
    JsonList ids;
    for (std::size_t i = 0; i < request.executions.size(); ++i) {
      asked.emplace(request.executions[i], i);
      ids.add(request.executions[i].id);
    }
    std::vector<TaskId> extend;
    Millis now = 0;
    if (!ids.empty()) {
      auto rows = session.run("renew_lock", ids.text(), request.owner);
      while (rows.next()) {
        const auto it = asked.find({rows.integer(0), rows.int32(1)});
        if (it == asked.end()) continue;
        const bool overdue = rows.integer(3) != 0;
        now = rows.integer(4);
        if (!overdue) extend.push_back(rows.integer(0));
        report.outcomes[it->second] = overdue                ? RenewOutcome::kOverdue
                                      : rows.integer(2) != 0 ? RenewOutcome::kCancel
                                                             : RenewOutcome::kOk;
      }
    }
    if (!extend.empty()) session.run("renew_extend", id_list(extend), now + request.lease_ms);
    auto mine = session.run("running_of_owner", request.owner);
    while (mine.next()) {
      const Execution running{mine.integer(0), mine.int32(1)};
      if (!asked.contains(running)) report.strays.push_back(running);
    }
  };
  WAYBILL_TRY(writer_.run("renew", body, Urgency::kUrgent));
  return report;
}

base::Result<PollReport> SqlStore::poll(const Poll& request) {
  JsonList known;
  for (const std::string& type : request.known_types) known.add(type);
  PollReport report;
  const auto status = readers_.run("poll", [&](Session& session) {
    report = {};
    std::set<std::string, std::less<>> paused;
    std::optional<Millis> next_due;
    std::vector<std::pair<std::string, Millis>> waiting;
    auto rows =
        session.run("poll", request.owner, request.known_types.empty() ? 1 : 0, known.text());
    while (rows.next()) {
      const Millis number = rows.integer(4);
      const LaneHead head{rows.string(1), {rows.int32(2), rows.string(3), number, -1}};
      switch (rows.integer(0)) {
        case 0:
          report.now = number;
          break;
        case 1:
          report.heads.push_back(head);
          break;
        case 2:
          report.sent_heads.push_back(head);
          break;
        case 3:
          paused.insert(head.lane);
          break;
        case 4:
          report.cancels.push_back({number, rows.int32(5)});
          break;
        default:
          if (!rows.is_null(4)) waiting.emplace_back(head.lane, number);
          break;
      }
    }
    for (auto* heads : {&report.heads, &report.sent_heads}) {
      std::erase_if(*heads, [&paused](const LaneHead& h) { return paused.contains(h.lane); });
      for (LaneHead& h : *heads) h.head.wait_ms = std::max<Millis>(report.now - h.head.wait_ms, 0);
    }
    for (const auto& [lane, due] : waiting) {
      if (!paused.contains(lane) && (!next_due || due < *next_due)) next_due = due;
    }
    if (next_due) report.next_due_in_ms = std::max<Millis>(*next_due - report.now, 0);
    report.paused_lanes.assign(paused.begin(), paused.end());
  });
  WAYBILL_TRY(status);
  return report;
}

}  // namespace waybill::store
