// The parts of the store that keeping files needs: which objects the database knows, and which
// files have expired.

#ifndef WAYBILL_EXPORTING_TESTING_FAKE_KEEPING_STORE_H_
#define WAYBILL_EXPORTING_TESTING_FAKE_KEEPING_STORE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace waybill::exporting::testing {

class FakeRepairStore final : public store::RepairStore {
 public:
  base::Result<bool> begin_pass(store::Millis, store::Millis) override { return unused(); }
  base::Result<store::Walked> recreate_missing_commands(const store::Walk&,
                                                        store::Millis) override {
    return unused();
  }
  base::Result<store::Walked> resend_stale_commands(const store::Walk&, store::Millis,
                                                    store::Millis) override {
    return unused();
  }
  base::Result<std::vector<store::Recovered>> recover_expired_leases(std::int64_t,
                                                                     store::Millis) override {
    return unused();
  }
  base::Result<std::vector<store::Recovered>> recover_all_running(std::int64_t) override {
    return unused();
  }
  base::Result<store::Walked> release_stuck_commands(const store::Walk&) override {
    return unused();
  }
  base::Result<store::Walked> repair_serial_slots(const store::Walk&) override { return unused(); }
  base::Result<std::vector<store::ExpiredFile>> expired_files(std::string_view storage_id,
                                                              store::Millis grace_ms,
                                                              const store::Walk& walk) override {
    if (error) return *error;
    asked_storage = std::string(storage_id);
    asked_grace = grace_ms;
    std::vector<store::ExpiredFile> out;
    for (const auto& [id, key] : expired) {
      if (id <= walk.after || static_cast<std::int64_t>(out.size()) == walk.limit) continue;
      out.push_back({id, key});
    }
    return out;
  }
  base::Result<std::int64_t> mark_expired(std::span<const store::TaskId> ids) override {
    if (mark_error) return *mark_error;
    for (const auto id : ids) {
      if (on_mark) on_mark(id);
      expired.erase(id);
      marked.push_back(id);
    }
    return static_cast<std::int64_t>(ids.size());
  }
  base::Result<std::vector<std::string>> recorded_keys(std::span<const std::string> keys) override {
    if (error) return *error;
    if (keys.size() == 1 && on_recheck) on_recheck(keys[0]);
    std::vector<std::string> out;
    for (const auto& key : keys) {
      if (recorded.contains(key)) out.push_back(key);
    }
    return out;
  }
  base::Result<std::int64_t> delete_old_sent_commands(store::Millis, std::int64_t) override {
    return unused();
  }
  base::Result<std::int64_t> delete_old_idempotency(std::int64_t) override { return unused(); }
  base::Result<std::int64_t> delete_old_tasks(store::Millis, std::int64_t) override {
    return unused();
  }

  std::map<store::TaskId, std::string> expired;
  std::set<std::string, std::less<>> recorded;
  std::vector<store::TaskId> marked;
  std::string asked_storage;
  store::Millis asked_grace = 0;
  std::optional<base::Error> error, mark_error;
  std::function<void(store::TaskId)> on_mark;
  std::function<void(const std::string&)> on_recheck;

 private:
  static base::Error unused() { return base::internal("unused"); }
};

class FakeAdminStore final : public store::AdminStore {
 public:
  base::Status migrate() override { return unused(); }
  base::Result<int> schema_version() override { return unused(); }
  base::Status ensure_type_guards(std::span<const std::string>) override { return unused(); }
  base::Status check_guards() override { return unused(); }
  base::Result<std::int64_t> restore_guards() override { return unused(); }
  base::Result<store::Millis> now() override { return now_ms; }
  base::Result<std::string> database_id() override { return id; }
  base::Status set_lane_paused(std::string_view, bool) override { return unused(); }
  base::Status register_instance(const store::InstanceRow&) override { return unused(); }
  base::Status renew_instance(std::string_view) override { return unused(); }
  base::Status remove_instance(std::string_view) override { return unused(); }
  base::Result<std::vector<store::InstanceRow>> instances() override { return unused(); }
  base::Result<store::QueueFigures> figures() override { return unused(); }
  base::Result<bool> has_tasks() override { return unused(); }
  base::Status remove_lane_rows(std::string_view) override { return unused(); }
  base::Status insert_finished(std::string_view, std::int64_t) override { return unused(); }
  [[nodiscard]] std::int64_t statements() const override { return 0; }

  store::Millis now_ms = 1'700'000'000'000;
  std::string id = "22222222-2222-4222-8222-222222222222";

 private:
  static base::Error unused() { return base::internal("unused"); }
};

}  // namespace waybill::exporting::testing

#endif  // WAYBILL_EXPORTING_TESTING_FAKE_KEEPING_STORE_H_
