// What every store must do, whatever database is under it. A driver instantiates the suite with a
// factory of databases:
//
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, testing::Values(Kind{"File", make_file},
//   ...), kind_name);
//
// and names what its database cannot do (Quirks).

#ifndef WAYBILL_TESTS_STORE_CONFORMANCE_H_
#define WAYBILL_TESTS_STORE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "store/seams.h"
#include "store/store.h"

namespace waybill::store::conformance {

struct Quirks {
  bool second_session = true;  // a second store on the same database can be opened
  bool raw = true;             // the database can be looked at beside the store
  bool plans = true;           // explain() knows this database's plans
};

// The hook of one store; a test puts its own function in. Thread-safe.
class Hook {
 public:
  void set(BeforeStatement function);
  void clear() { set({}); }
  Injected operator()(const StatementPoint& point);

 private:
  std::mutex mutex_;
  std::shared_ptr<const BeforeStatement> function_;
};

using RawRow = std::vector<std::string>;

// One migrated database and stores on it.
class Database {
 public:
  virtual ~Database() = default;
  virtual Store& store() = 0;
  virtual std::unique_ptr<Store> open_another(Hook& hook) = 0;
  virtual std::vector<RawRow> query(const std::string& sql) = 0;
  virtual void execute(const std::string& sql) = 0;
  // Plan lines of every named statement.
  virtual std::map<std::string, std::vector<std::string>> explain() = 0;
  // Steps that a reading statement takes now, in the database's own unit; every type is known.
  virtual std::int64_t work_of(const std::string& name) = 0;
  // Bytes of the write-ahead log, or 0 where there is none.
  virtual std::int64_t log_bytes() { return 0; }

  base::ManualClock clock;
  base::SeededRandom random{42};
  Hook hook;
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Database>()> make;
  Quirks quirks;
};
inline std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
inline std::string kind_name(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

inline constexpr std::string_view kOwner = "host-1";
inline constexpr Millis kLease = 300'000;

NewTask action(const std::string& lane = "account");
NewTask keyed(const std::string& key, const std::string& lane = "account");
CreateExport exporting(const std::string& user, const std::string& parameters);

class StoreConformance : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override;

  Store& store() { return database_->store(); }
  base::ManualClock& clock() { return database_->clock; }
  Database& database() { return *database_; }
  [[nodiscard]] const Quirks& quirks() const { return GetParam().quirks; }

  TaskId create(const NewTask& task);
  std::vector<ClaimedTask> claim(std::int64_t n = 500, const std::string& lane = "account",
                                 std::string_view owner = kOwner);
  Execution claim_one(const std::string& lane = "account");
  FinishOutcome finish(const Execution& execution, core::Event event = core::Event::kSucceed,
                       std::string_view owner = kOwner);
  TaskRow row(TaskId id);
  std::int64_t number(const std::string& sql);
  // A job row for items that tests create.
  void make_job(std::int64_t id, std::int64_t total);
  // Counters = recount, one head per key, no command without its PENDING task, no PENDING task
  // without its command, no stranded key, quarantined = FAILED.
  void expect_invariants();

 private:
  std::unique_ptr<Database> database_;
};

// All tasks of the lane claimed and finished until nothing is left; false when it does not end.
bool drain(Store& store, base::ManualClock& clock, const std::string& lane);

Finish ending(const Execution& execution, core::Event event = core::Event::kSucceed);
ClaimNext claiming(const std::string& lane, std::int64_t n, std::string_view owner = kOwner);
Scope everybody();

#define ASSERT_STORED(expression)                                     \
  do {                                                                \
    const auto& stored_result = (expression);                         \
    ASSERT_TRUE(stored_result.ok()) << stored_result.error().message; \
  } while (false)
#define EXPECT_STORED(expression)                                     \
  do {                                                                \
    const auto& stored_result = (expression);                         \
    EXPECT_TRUE(stored_result.ok()) << stored_result.error().message; \
  } while (false)

}  // namespace waybill::store::conformance

#endif  // WAYBILL_TESTS_STORE_CONFORMANCE_H_
