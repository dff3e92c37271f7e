#include "tests/sim/provider.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/task.h"
#include "tests/sim/process.h"
#include "tests/sim/rules.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr Millis kMaxAnswerMs = 400;
constexpr Millis kSlowAnswerMs = 14'000;  // just inside the time-out

// The number after `mark`, or `none`.
std::int64_t number_after(const std::string& text, const std::string& mark, std::int64_t none) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? none
                                 : std::strtoll(text.c_str() + at + mark.size(), nullptr, 10);
}

std::string page_of(std::int64_t rows, std::int64_t salt, std::int64_t first) {
  const std::int64_t end = std::min(rows, first + kPageRows);
  std::string out =
      R"({"code":"200","message":"ok","data":{"schemaVersion":1,"schemaHash":"h1","snapshotToken":"s",)"
      R"("columns":)";
  out += kColumnsJson;
  out += R"(,"totalRows":")" + std::to_string(rows) + R"(","rows":)" + rows_json(first, end, salt);
  const bool more = end < rows;
  out += R"(,"nextCursor":)" + (more ? '"' + std::to_string(end) + '"' : std::string("null"));
  return out + R"(,"hasMore":)" + (more ? "true}}" : "false}}");
}

client::Response answer(int status, std::string body) {
  client::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

class Provider final : public client::HttpClient {
 public:
  Provider(World& world, Process& process) : world_(world), process_(process) {}

  base::Result<client::Response> send(const client::Request& request) override {
    const std::string& body = request.body;
    world_.rules->asked_provider(
        process_, {number_after(body, R"("taskId":")", 0),
                   static_cast<std::int32_t>(number_after(body, R"("dispatchVersion":)", 0))});
    Scheduler& scheduler = world_.scheduler;
    const Faults& f = world_.faults;
    const bool bad = world_.faulty;
    const bool away = bad && scheduler.now() < world_.provider_away_until;
    const bool silent = bad && scheduler.chance(f.provider_silent);
    const bool slow = bad && scheduler.chance(f.provider_slow);
    scheduler.sleep(silent ? request.total_timeout_ms
                           : scheduler.between(1, slow ? kSlowAnswerMs : kMaxAnswerMs));
    if (process_.dead() || (request.stop && request.stop())) return base::cancelled("stopped");
    if (silent) return base::timed_out("no answer");
    if (away) return base::unavailable("connection refused");
    if (bad && scheduler.chance(f.provider_busy)) return busy();
    if (bad && scheduler.chance(f.provider_refuses))
      return answer(400, R"({"code":"400","message":"not like this"})");
    const std::string page =
        page_of(number_after(body, R"("rows":)", 0), number_after(body, R"("salt":)", 1),
                number_after(body, R"("cursor":")", 0));
    if (bad && scheduler.chance(f.provider_garbage))
      return answer(200, page.substr(0, page.size() / 2));
    return answer(200, page);
  }

 private:
  client::Response busy() {
    if (world_.scheduler.chance(0.5)) return answer(503, "");
    client::Response response = answer(429, "");
    response.headers.emplace_back("retry-after", std::to_string(world_.scheduler.between(1, 120)));
    return response;
  }
  World& world_;
  Process& process_;
};

}  // namespace

std::string parameters_of(std::int64_t rows, std::int64_t salt) {
  return R"({"rows":)" + std::to_string(rows) + R"(,"salt":)" + std::to_string(salt) + "}";
}

std::string rows_json(std::int64_t first, std::int64_t end, std::int64_t salt) {
  std::string out = "[";
  for (std::int64_t i = first; i < end; ++i) {
    if (i > first) out += ',';
    out += R"({"id":")" + std::to_string(i + 1) + R"(","name":"row )" +
           std::to_string(i * salt % 97) + "\"}";
  }
  return out + "]";
}

std::unique_ptr<client::HttpClient> connect_provider(World& world, Process& process) {
  return std::make_unique<Provider>(world, process);
}

}  // namespace waybill::sim
