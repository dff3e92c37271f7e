// Compiled as C++17 (see CMakeLists.txt): with C++20 the library's header finds two classes of one
// name, its own and the standard's.

#include "base/zone_rule.h"

#include <date/ptz.h>

#include <chrono>
#include <exception>
#include <utility>

namespace waybill::base {
namespace {

class PosixRule final : public ZoneRule {
 public:
  explicit PosixRule(Posix::time_zone zone) : zone_(std::move(zone)) {}
  std::int64_t offset_seconds(std::int64_t utc_seconds) const override {
    const date::sys_seconds at{std::chrono::seconds(utc_seconds)};
    return zone_.get_info(at).offset.count();
  }

 private:
  Posix::time_zone zone_;
};

}  // namespace

std::shared_ptr<const ZoneRule> ZoneRule::parse(const std::string& text) {
  try {
    return std::make_shared<PosixRule>(Posix::time_zone(text));
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace waybill::base
