#include "tests/sim/run.h"

#include <algorithm>
#include <map>
#include <set>

#include "exporting/file_keeper.h"
#include "tests/sim/crew.h"
#include "tests/sim/operator.h"
#include "tests/sim/provider.h"
#include "tests/sim/rules.h"
#include "tests/sim/storage.h"
#include "xlsx/writer.h"

namespace waybill::sim {
namespace {

// After the last end the storage is cleaned: the orphan age, and a few scans.
constexpr Millis kCleanMs = 40 * 60'000LL;

void turns(World& world, std::int64_t steps) {
  const std::int64_t end = world.scheduler.turns() + steps;
  while (world.scheduler.turns() < end && !world.violation && world.scheduler.turn())
    world.crew->reap();
}

template <class Until>
bool turns_until(World& world, Millis at_most, const Until& until) {
  const Millis end = world.scheduler.now() + at_most;
  while (!until()) {
    if (world.violation || world.scheduler.now() > end || !world.scheduler.turn()) return false;
    world.crew->reap();
  }
  return true;
}

// The compressed parts that carry cells, as the central directory of a package names them.
std::map<std::string, std::string> cell_parts(const std::string& package) {
  const auto number = [&package](std::size_t at, std::size_t bytes) {
    std::size_t value = 0;
    for (std::size_t i = bytes; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(package.at(at + i));
    return value;
  };
  std::map<std::string, std::string> parts;
  if (package.size() < 22) return parts;
  std::size_t at = number(package.size() - 6, 4);
  for (std::size_t n = number(package.size() - 12, 2); n > 0; --n) {
    const std::size_t name = number(at + 28, 2);
    const std::size_t local = number(at + 42, 4);
    const std::size_t content = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    const std::string part = package.substr(at + 46, name);
    if (part.starts_with("xl/worksheets/") || part == "xl/sharedStrings.xml")
      parts[part] = package.substr(content, number(at + 20, 4));
    at += 46 + name + number(at + 30, 2) + number(at + 32, 2);
  }
  return parts;
}

// The same rows through the writer alone, page by page as the provider gives them.
std::string expected_file(const std::string& type, std::int64_t rows, std::int64_t salt) {
  std::string bytes;
  xlsx::WriterOptions options;
  options.sheet_name = options.title = type;
  auto writer = xlsx::Writer::open({{"id", "No.", xlsx::ColumnType::kInteger, 0},
                                    {"name", "Name", xlsx::ColumnType::kString, 0}},
                                   options, [&bytes](std::string_view piece) -> base::Status {
                                     bytes += piece;
                                     return {};
                                   });
  if (!writer.ok()) return {};
  for (std::int64_t first = 0; first < rows; first += kPageRows) {
    static_cast<void>(
        (*writer)->append_json_rows(rows_json(first, std::min(rows, first + kPageRows), salt)));
  }
  static_cast<void>((*writer)->close());
  return bytes;
}

void judge_files(World& world) {
  std::set<std::string> recorded;
  const auto rows = world.sql(
      "SELECT t.id, t.type, e.object_key, json_extract(e.parameters_json, '$.rows'),"
      " json_extract(e.parameters_json, '$.salt') FROM task t JOIN export_task e ON e.task_id = "
      "t.id"
      " WHERE t.status = 2");
  for (const auto& row : rows) {
    const core::TaskId id = std::stoll(row[0]);
    recorded.insert(row[2]);
    if (!world.storage->holds(row[2])) {
      world.violate("I12", id, "its file is gone");
      continue;
    }
    const std::string expected = expected_file(row[1], std::stoll(row[3]), std::stoll(row[4]));
    if (cell_parts(world.storage->bytes_of(row[2])) != cell_parts(expected))
      world.violate("I12", id, "its file holds other rows than the provider gave");
  }
  for (const std::string& key : world.storage->keys()) {
    if (!recorded.contains(key) && key != exporting::kOwnerMarkerKey)
      world.violate("I12", 0, "a file that no task owns: " + key);
  }
  if (world.storage->hidden() > 0) world.violate("I12", 0, "a half-written file was left");
}

void judge_end(World& world) {
  for (const auto& [id, task] : world.rules->tasks()) {
    if (core::is_ended(task.status)) continue;
    std::string what = "did not end: " + std::string(core::to_string(task.status));
    const auto command = world.rules->commands().find({id, task.version});
    if (command != world.rules->commands().end()) {
      what += ", its command " + std::string(core::to_string(command->second.status)) + " after " +
              std::to_string(command->second.sends) + " sends";
    }
    world.violate("I1", id, what);
  }
  for (const auto& [execution, command] : world.rules->commands()) {
    if (command.status != core::CommandStatus::kQuarantined)
      world.violate("I9", execution.id, "its command is left");
  }
  const auto held = world.sql(
      "SELECT skey, holder_task_id FROM serial_slot"
      " WHERE holder_task_id IS NOT NULL");
  for (const auto& row : held) world.violate("I16", std::stoll(row[1]), "holds key " + row[0]);
}

}  // namespace

RunReport run(std::uint64_t seed, std::int64_t steps, bool follow) {
  World world(seed, follow);
  const Millis began = world.scheduler.now();
  Operator crowd(world);
  world.crew->start_one();
  crowd.start();
  turns(world, steps);
  crowd.heal();
  const bool ended =
      turns_until(world, world.rules->time_to_end(), [&world] { return world.rules->all_ended(); });
  if (ended) {
    crowd.leave_one();
    const Millis until = world.scheduler.now() + kCleanMs;
    turns_until(world, kCleanMs, [&] { return world.scheduler.now() >= until; });
  }
  if (!world.violation) judge_end(world);
  if (!world.violation) judge_files(world);
  RunReport report;
  report.virtual_ms = world.scheduler.now() - began;
  report.steps = world.scheduler.turns();
  report.tasks = static_cast<std::int64_t>(world.rules->tasks().size());
  report.fingerprint = world.book.fingerprint();
  report.violation = world.violation;
  if (world.violation && world.violation->task != 0) {
    report.story = world.book.story_of(world.violation->task);
  } else if (world.violation) {
    report.story.assign(world.book.lines().begin(), world.book.lines().end());
  }
  world.crew->end_all();
  return report;
}

}  // namespace waybill::sim
