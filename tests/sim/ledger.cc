// How changed rows reach the rules: temporary triggers, so that they are rolled back with the
// transaction that made them.

#include <array>
#include <cstdlib>

#include "tests/sim/rules.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr std::string_view kTaskColumns[] = {"id",
                                             "kind",
                                             "status",
                                             "dispatch_version",
                                             "attempt_count",
                                             "max_attempts",
                                             "max_duration_ms",
                                             "due_at",
                                             "lease_owner",
                                             "lease_until",
                                             "execution_deadline_at",
                                             "cancel_requested",
                                             "serial_key",
                                             "tenant_id",
                                             "lane",
                                             "type",
                                             "job_id",
                                             "failure_class",
                                             "failure_message"};
constexpr std::string_view kCommandColumns[] = {"task_id", "dispatch_version", "status",
                                                "attempt_count"};
constexpr std::string_view kExportColumns[] = {"task_id", "dispatch_version"};

// seen(seq, place, side, c0, c1, ...): place "t", "o" or "e", side "-" before and "+" after.
std::string insert_of(std::string_view place, char side,
                      std::span<const std::string_view> columns) {
  const std::string row = side == '-' ? "OLD." : "NEW.";
  std::string names = "place, side";
  std::string values = "'" + std::string(place) + "', '" + side + "'";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    names += ", c" + std::to_string(i);
    values += ", " + row + std::string(columns[i]);
  }
  return "INSERT INTO seen(" + names + ") VALUES(" + values + ");";
}

void make_triggers(World& world, const std::string& table, std::string_view place,
                   std::span<const std::string_view> columns) {
  const std::string before = insert_of(place, '-', columns);
  const std::string after = insert_of(place, '+', columns);
  const auto trigger = [&](const std::string& event, const std::string& body) {
    world.sql("CREATE TEMP TRIGGER seen_" + table + "_" + event + " AFTER " + event + " ON main." +
              table + " BEGIN " + body + " END");
  };
  trigger("INSERT", after);
  trigger("DELETE", before);
  trigger("UPDATE", before + " " + after);
}

std::int64_t number(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }
std::int32_t small(const std::string& text) { return static_cast<std::int32_t>(number(text)); }

TaskView task_of(const std::vector<std::string>& row, std::size_t at) {
  TaskView t;
  t.kind = static_cast<core::TaskKind>(number(row[at + 1]));
  t.status = static_cast<core::TaskStatus>(number(row[at + 2]));
  t.version = small(row[at + 3]);
  t.attempts = small(row[at + 4]);
  t.max_attempts = small(row[at + 5]);
  t.max_duration = number(row[at + 6]);
  t.due_at = number(row[at + 7]);
  t.owner = row[at + 8];
  if (!row[at + 9].empty()) t.lease_until = number(row[at + 9]);
  t.deadline = number(row[at + 10]);
  t.cancel = number(row[at + 11]) != 0;
  t.key = row[at + 12];
  t.tenant = row[at + 13];
  t.lane = row[at + 14];
  t.type = row[at + 15];
  if (!row[at + 16].empty()) t.job = number(row[at + 16]);
  t.failure_class = row[at + 17];
  t.failure_message = row[at + 18];
  return t;
}

CommandView command_of(const std::vector<std::string>& row, std::size_t at) {
  return {.status = static_cast<core::CommandStatus>(number(row[at + 2])),
          .sends = small(row[at + 3])};
}

}  // namespace

Rules::Rules(World& world) : world_(world) {
  std::string columns;
  for (std::size_t i = 0; i < std::size(kTaskColumns); ++i) columns += ", c" + std::to_string(i);
  world_.sql("CREATE TEMP TABLE seen(seq INTEGER PRIMARY KEY, place, side" + columns + ")");
  make_triggers(world_, "task", "t", kTaskColumns);
  make_triggers(world_, "outbox", "o", kCommandColumns);
  world_.sql(
      "CREATE TEMP TRIGGER seen_progress AFTER UPDATE OF processed_rows ON main.export_task "
      "BEGIN " +
      insert_of("e", '+', kExportColumns) + " END");
}

// An update is a '-' row followed by its '+' row.
Rules::Changes Rules::read_changes() {
  constexpr std::size_t kFirst = 3;
  Changes changes;
  const auto rows = world_.sql("SELECT * FROM seen ORDER BY seq");
  if (rows.empty()) return changes;
  world_.sql("DELETE FROM seen");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const core::Execution execution{number(row[kFirst]), small(row[kFirst + 1])};
    if (row[1] == "e") {
      changes.progress.push_back({execution});
      continue;
    }
    const bool gone = row[2] == "-";
    const bool updated = gone && i + 1 < rows.size() && rows[i + 1][2] == "+" &&
                         rows[i + 1][1] == row[1] && rows[i + 1][kFirst] == row[kFirst] &&
                         (row[1] == "t" || rows[i + 1][kFirst + 1] == row[kFirst + 1]);
    const auto& last = updated ? rows[i + 1] : row;
    if (row[1] == "t") {
      TaskChange& change = changes.tasks.emplace_back();
      change.id = execution.id;
      if (gone) change.before = task_of(row, kFirst);
      if (!gone || updated) change.after = task_of(last, kFirst);
    } else {
      CommandChange& change = changes.commands.emplace_back();
      change.execution = execution;
      if (gone) change.before = command_of(row, kFirst);
      if (!gone || updated) change.after = command_of(last, kFirst);
    }
    if (updated) ++i;
  }
  return changes;
}

}  // namespace waybill::sim
