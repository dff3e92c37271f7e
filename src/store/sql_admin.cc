// Schema, guards, lanes, instances, figures.

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "store/fields.h"
#include "store/guards.h"
#include "store/history.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

constexpr std::size_t kMaxVersion = 32;
constexpr std::size_t kMaxRolesJson = 500;
constexpr std::size_t kMaxWorkersJson = 2'000;
constexpr std::int64_t kBenchPiece = 20'000;  // rows per transaction of the benchmark helpers
constexpr std::int64_t kWalkPiece = 5'000;

// "0001_initial.sql" -> 1
int version_of(std::string_view file) {
  const auto number = base::parse_int(base::split(file, '_').front());
  return static_cast<int>(number.value_or(0));
}

int applied_version(Session& session) {
  {
    auto present = session.run("schema_present");
    if (!present.next() || present.integer(0) == 0) return 0;
  }
  auto rows = session.run("schema_version");
  return rows.next() ? rows.int32(0) : 0;
}

// Those that do not depend on the registry.
std::set<std::string> common_guards() {
  std::set<std::string> scopes{std::string(kGlobalGuard)};
  for (int shard = 0; shard < kUserGuards; ++shard) scopes.insert(user_guard(shard));
  return scopes;
}

base::Error missing_row(const std::string& row, const std::string& table,
                        const std::string& more = {}) {
  return base::internal("the row '" + row + "' of table " + table + " is missing" + more +
                        "; run waybill migrate");
}

}  // namespace

// One transaction for all that is missing: a second process waits for it and finds nothing left to
// do.
base::Status SqlStore::migrate() {
  const auto files = driver_->migrations();
  const int newest = files.empty() ? 0 : version_of(files.back().file);
  return writer_.run("migrate", [&](Session& session) {
    const int present = applied_version(session);
    if (present > newest) {
      throw Abort{base::conflict("SCHEMA_TOO_NEW",
                                 "the database has schema version " + std::to_string(present) +
                                     ", which is newer than this program (it knows " +
                                     std::to_string(newest) + "); use a newer Waybill")};
    }
    if (present == newest) return;
    session.run("schema_table");
    for (const EmbeddedSql& file : files) {
      const int version = version_of(file.file);
      if (version <= present) continue;
      session.run_script(file.text);
      session.run("schema_record", version, file.file);
    }
  });
}

base::Result<int> SqlStore::schema_version() {
  int version = 0;
  WAYBILL_TRY(readers_.run("schema_version",
                           [&](Session& session) { version = applied_version(session); }));
  return version;
}

base::Status SqlStore::ensure_type_guards(std::span<const std::string> types) {
  JsonRows scopes;
  for (const std::string& type : types) {
    WAYBILL_TRY(check_text("type", type, kMaxType, true));
    scopes.add(type_guard(type));
  }
  if (scopes.empty()) return {};
  return writer_.run("ensure_type_guards",
                     [&](Session& session) { session.run("guard_insert", scopes.text()); });
}

base::Status SqlStore::check_guards() {
  std::set<std::string> missing = common_guards();
  bool swept = false;
  bool numbered = false;
  const auto status = readers_.run("check_guards", [&](Session& session) {
    {
      auto rows = session.run("guards_read");
      while (rows.next()) missing.erase(rows.string(0));
    }
    auto rows = session.run("single_rows");
    if (!rows.next()) return;
    swept = rows.integer(0) != 0;
    numbered = rows.integer(1) != 0;
  });
  WAYBILL_TRY(status);
  if (!swept) return missing_row("1", "sweep");
  if (!numbered) return missing_row("task", "id_block");
  if (missing.empty()) return {};
  return missing_row(*missing.begin(), "create_guard",
                     " (" + std::to_string(missing.size()) + " in all)");
}

base::Result<std::int64_t> SqlStore::restore_guards() {
  JsonRows scopes;
  for (const std::string& scope : common_guards()) scopes.add(scope);
  std::int64_t made = 0;
  const auto status = writer_.run("restore_guards", [&](Session& session) {
    made = session.run("guard_insert", scopes.text()).changed();
    made += session.run("sweep_restore").changed();
    made += session.run("ids_restore").changed();
  });
  WAYBILL_TRY(status);
  return made;
}

base::Result<Millis> SqlStore::now() {
  Millis now = 0;
  const auto status = readers_.run("now", [&](Session& session) {
    auto rows = session.run("clock_read");
    if (rows.next()) now = rows.integer(0);
  });
  WAYBILL_TRY(status);
  return now;
}

base::Result<std::string> SqlStore::database_id() {
  std::string id;
  const auto read = [&](Session& session) {
    auto rows = session.run("identity_read");
    if (rows.next()) id = rows.text(0);
  };
  WAYBILL_TRY(readers_.run("database_id", read));
  if (!id.empty()) return id;
  const std::string fresh = base::make_uuid(seams_.random);
  const auto status = writer_.run("database_id", [&](Session& session) {
    session.run("identity_insert", fresh);
    read(session);
  });
  WAYBILL_TRY(status);
  return id;
}

base::Status SqlStore::set_lane_paused(std::string_view lane, bool paused) {
  WAYBILL_TRY(check_text("lane", lane, kMaxLane, true));
  return writer_.run("set_lane_paused",
                     [&](Session& session) { session.run("lane_pause", lane, paused ? 1 : 0); });
}

base::Status SqlStore::register_instance(const InstanceRow& row) {
  WAYBILL_TRY(check_text("name", row.name, kMaxOwner, true));
  WAYBILL_TRY(check_text("version", row.version, kMaxVersion));
  WAYBILL_TRY(check_text("storageId", row.storage_id, kMaxStorageId));
  WAYBILL_TRY(check_text("roles", row.roles_json, kMaxRolesJson));
  WAYBILL_TRY(check_text("workers", row.workers_json, kMaxWorkersJson));
  return writer_.run("register_instance", [&](Session& session) {
    session.run("instance_put", row.name, row.version, row.storage_id, row.roles_json,
                row.workers_json, row.schema_version);
  });
}

base::Status SqlStore::renew_instance(std::string_view name) {
  return writer_.run("renew_instance",
                     [&](Session& session) { session.run("instance_renew", name); });
}

base::Status SqlStore::remove_instance(std::string_view name) {
  return writer_.run("remove_instance",
                     [&](Session& session) { session.run("instance_remove", name); });
}

base::Result<std::vector<InstanceRow>> SqlStore::instances() {
  std::vector<InstanceRow> found;
  const auto status = readers_.run("instances", [&](Session& session) {
    found.clear();
    auto rows = session.run("instances_read", seams_.instance_alive_ms);
    while (rows.next()) {
      found.push_back({.name = rows.string(0),
                       .started_at = rows.integer(1),
                       .renewed_at = rows.integer(2),
                       .version = rows.string(3),
                       .storage_id = rows.string(4),
                       .roles_json = rows.string(5),
                       .workers_json = rows.string(6),
                       .schema_version = rows.int32(7),
                       .alive = rows.integer(8) != 0});
    }
  });
  WAYBILL_TRY(status);
  return found;
}

base::Result<QueueFigures> SqlStore::figures() {
  QueueFigures figures;
  const auto status = readers_.run("figures", [&](Session& session) {
    auto rows = session.run("figures");
    if (!rows.next()) return;
    figures.pending_commands = rows.integer(0);
    if (!rows.is_null(1))
      figures.oldest_command_age_ms = std::max<Millis>(rows.integer(4) - rows.integer(1), 0);
    figures.max_fail_count = rows.integer(2);
    figures.running = rows.integer(3);
  });
  WAYBILL_TRY(status);
  return figures;
}

base::Result<bool> SqlStore::has_tasks() {
  bool any = false;
  WAYBILL_TRY(
      readers_.run("has_tasks", [&](Session& session) { any = session.run("has_tasks").next(); }));
  return any;
}

base::Status SqlStore::remove_lane_rows(std::string_view lane) {
  for (TaskId after = 0;;) {
    TaskId last = 0;
    const auto status = writer_.run("remove_lane_rows", [&](Session& session) {
      last = 0;
      std::vector<TaskId> ids;
      {
        auto rows = session.run("lane_walk", lane, after, kWalkPiece);
        while (rows.next()) {
          last = rows.integer(0);
          if (rows.integer(1) != 0) ids.push_back(last);
        }
      }
      delete_history(session, ids);
    });
    WAYBILL_TRY(status);
    if (last == 0) return {};
    after = last;
  }
}

base::Status SqlStore::insert_finished(std::string_view lane, std::int64_t count) {
  WAYBILL_TRY(check_text("lane", lane, kMaxLane, true));
  while (count > 0) {
    const std::int64_t piece = std::min(count, kBenchPiece);
    const auto status = writer_.run("insert_finished", [&](Session& session) {
      std::int64_t first = 0;
      {
        auto rows = session.run("id_block_read");
        if (rows.next()) first = rows.integer(0);
      }
      session.run("id_block_move", first + piece);
      session.run("finished_insert", lane, first, piece);
    });
    WAYBILL_TRY(status);
    count -= piece;
  }
  return {};
}

}  // namespace waybill::store
