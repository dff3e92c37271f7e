#include "dispatch/consumer.h"

#include <algorithm>
#include <utility>

namespace waybill::dispatch {
namespace {

// More distinct (lane, level, tenant) than this between two steps: a poll finds them cheaper.
constexpr std::size_t kMaxHints = 10'000;

core::Head* find_head(std::vector<core::Head>& heads, core::Level level, std::string_view tenant) {
  const auto it = std::find_if(heads.begin(), heads.end(), [&](const core::Head& h) {
    return h.level == level && h.tenant_id == tenant;
  });
  return it == heads.end() ? nullptr : &*it;
}

void add_picks(std::vector<core::Pick>& picks, std::vector<core::Pick> more) {
  for (core::Pick& pick : more) {
    // One statement serves all picks: a (level, tenant) must not stand there twice.
    const auto same = std::find_if(picks.begin(), picks.end(), [&](const core::Pick& p) {
      return p.level == pick.level && p.tenant_id == pick.tenant_id;
    });
    if (same == picks.end()) {
      picks.push_back(std::move(pick));
    } else {
      same->n += pick.n;
    }
  }
}

// Reserved slots go to P0 alone, the shared ones to everybody in the common order.
std::vector<core::Pick> plan(std::vector<core::Head> heads, core::OrderState& order,
                             FreeSlots free) {
  std::vector<core::Pick> picks;
  if (free.reserved > 0) {
    std::vector<core::Head> urgent;
    std::copy_if(heads.begin(), heads.end(), std::back_inserter(urgent),
                 [](const core::Head& h) { return h.level == 0; });
    add_picks(picks, core::plan_picks(urgent, order, free.reserved));
    for (const core::Pick& pick : picks) {
      core::Head* head = find_head(heads, pick.level, pick.tenant_id);
      if (head->waiting >= 0) head->waiting -= pick.n;
    }
    std::erase_if(heads, [](const core::Head& h) { return h.waiting == 0; });
  }
  if (free.shared > 0) add_picks(picks, core::plan_picks(heads, order, free.shared));
  // One statement takes a batch; what is cut here comes with the next step.
  auto left = static_cast<std::int64_t>(store::kMaxBatch);
  for (core::Pick& pick : picks) {
    pick.n = std::min(pick.n, left);
    left -= pick.n;
  }
  std::erase_if(picks, [](const core::Pick& pick) { return pick.n == 0; });
  return picks;
}

// A claim that came back short has emptied that (level, tenant), or others hold the rest: the next
// poll tells.
void forget_taken(std::vector<core::Head>& heads, const std::vector<core::Pick>& picks,
                  const std::vector<store::ClaimedTask>& claimed) {
  for (const core::Pick& pick : picks) {
    const auto got =
        std::count_if(claimed.begin(), claimed.end(), [&](const store::ClaimedTask& t) {
          return t.priority == pick.level && t.tenant_id == pick.tenant_id;
        });
    core::Head* head = find_head(heads, pick.level, pick.tenant_id);
    if (head == nullptr) continue;
    if (got < pick.n) {
      head->waiting = 0;
    } else if (head->waiting > 0) {
      head->waiting -= got;
    }
  }
  std::erase_if(heads, [](const core::Head& h) { return h.waiting == 0; });
}

}  // namespace

Consumer::Consumer(const Settings& settings, Feed feed, store::WorkStore& store, Workbench& bench,
                   Finisher& finisher, const base::Clock& clock, Metrics& metrics)
    : settings_(settings),
      feed_(feed),
      store_(store),
      bench_(bench),
      finisher_(finisher),
      clock_(clock),
      metrics_(metrics),
      lanes_(bench.slots().lanes()),
      poll_interval_(feed == Feed::kOutbox ? settings.poll_min_ms : settings.poll_max_ms) {}

base::Result<Next> Consumer::step() {
  const Next finish = finisher_.step();
  const auto claiming = bench_.may_claim();
  if (!claiming) return finish;

  const Millis now = clock_.boot_ms();
  if (poll_due_in(now) <= 0) WAYBILL_TRY(poll(now));
  take_hints();
  std::size_t claimed = 0;
  if (bench_.map().guarded()) {
    WAYBILL_ASSIGN(claimed, claim_lanes(now));
  }
  if (claimed > 0 && feed_ == Feed::kOutbox) poll_interval_ = settings_.poll_min_ms;
  if (claimed > 0 || finish.again) return Next::at_once();
  return Next::after(std::min(finish.wait_ms, std::max<Millis>(poll_due_in(now), 0)));
}

void Consumer::hint(std::span<const store::CommandHint> hints) {
  if (feed_ != Feed::kOutbox) return;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& hint : hints) {
      if (hints_.contains(std::tie(hint.lane, hint.level, hint.tenant_id))) continue;
      if (hints_.size() >= kMaxHints) {
        poll_soon_ = true;
        break;
      }
      hints_.emplace(hint.lane, hint.level, hint.tenant_id);
    }
  }
  wake_.raise();
}

void Consumer::poll_soon() {
  {
    const std::lock_guard lock(mutex_);
    poll_soon_ = true;
  }
  wake_.raise();
}

bool Consumer::paused(std::string_view lane) const {
  const std::lock_guard lock(mutex_);
  return paused_.contains(lane);
}

void Consumer::take_hints() {
  std::set<Hint, std::less<>> hints;
  {
    const std::lock_guard lock(mutex_);
    hints.swap(hints_);
  }
  for (const auto& [lane_name, level, tenant] : hints) {
    const auto lane = bench_.slots().find(lane_name);
    if (!lane) continue;
    auto& heads = lanes_[*lane].heads;
    if (core::Head* known = find_head(heads, level, tenant); known != nullptr) {
      known->waiting = -1;  // more than was counted
    } else {
      heads.push_back({.level = level, .tenant_id = tenant, .wait_ms = 0, .waiting = -1});
    }
  }
}

base::Status Consumer::poll(Millis now) {
  store::Poll request{.owner = settings_.owner, .known_types = bench_.known_types()};
  const bool knows_nothing = request.known_types.empty();
  {
    const std::lock_guard lock(mutex_);
    poll_soon_ = false;
  }
  WAYBILL_ASSIGN(store::PollReport report, store_.poll(request));
  polled_ = true;
  last_poll_ = now;
  poll_interval_ = std::min(poll_interval_ * 2, settings_.poll_max_ms);
  next_due_.reset();
  if (report.next_due_in_ms && !knows_nothing) {
    next_due_ = now + std::max<Millis>(*report.next_due_in_ms, 1);
  }
  {
    const std::lock_guard lock(mutex_);
    paused_ = {report.paused_lanes.begin(), report.paused_lanes.end()};
  }
  for (const auto& execution : report.cancels) {
    bench_.map().request(execution, StopReason::kCancelled);
  }
  take_heads(report);
  return {};
}

void Consumer::take_heads(const store::PollReport& report) {
  for (Lane& lane : lanes_) {
    lane.heads.clear();
    lane.sent_heads.clear();
  }
  for (const auto& [name, head] : report.heads) {
    if (const auto lane = bench_.slots().find(name)) lanes_[*lane].heads.push_back(head);
  }
  if (feed_ != Feed::kSweep) return;
  for (const auto& [name, head] : report.sent_heads) {
    if (head.wait_ms < settings_.sweep_after_ms) continue;
    if (const auto lane = bench_.slots().find(name)) {
      lanes_[*lane].sent_heads.push_back(head);
      lanes_[*lane].sent_heads.back().waiting =
          -1;  // how many of them are old enough is not counted
    }
  }
}

bool Consumer::wants_heads() const {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].heads.empty() && bench_.slots().free(i).total() > 0) return true;
  }
  return false;
}

Millis Consumer::poll_due_in(Millis now) const {
  if (!polled_) return 0;
  {
    const std::lock_guard lock(mutex_);
    if (poll_soon_) return 0;
  }
  // With every slot busy only the cancel flags matter.
  if (feed_ == Feed::kSweep || !wants_heads()) return last_poll_ + settings_.poll_max_ms - now;
  Millis due = last_poll_ + poll_interval_;
  if (next_due_) due = std::min(due, *next_due_);
  return due - now;
}

base::Result<std::size_t> Consumer::claim_lanes(Millis now) {
  std::size_t claimed = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (feed_ == Feed::kSweep && !may_sweep(i, now)) continue;
    if (paused(bench_.slots().name(i))) {
      lane.heads.clear();
      lane.sent_heads.clear();
      continue;
    }
    WAYBILL_ASSIGN(const std::size_t pending, claim(i, lane.heads, false));
    WAYBILL_ASSIGN(const std::size_t sent, claim(i, lane.sent_heads, true));
    claimed += pending + sent;
    lane.started = bench_.started(i);  // what the sweep started does not make the lane busy
  }
  return claimed;
}

bool Consumer::may_sweep(std::size_t lane, Millis now) {
  Lane& l = lanes_[lane];
  const std::int64_t started = bench_.started(lane);
  const bool idle = bench_.slots().free(lane).total() > 0 && started == l.started;
  l.started = started;
  if (!idle) {
    l.idle_since.reset();
    return false;
  }
  if (!l.idle_since) l.idle_since = now;
  return settings_.sweep_after_ms > 0 && now - *l.idle_since >= settings_.idle_before_sweep_ms;
}

base::Result<std::size_t> Consumer::claim(std::size_t lane, std::vector<core::Head>& heads,
                                          bool sent) {
  if (heads.empty()) return std::size_t{0};
  store::ClaimNext request;
  request.known_types = bench_.known_types();
  if (request.known_types.empty())
    return std::size_t{0};  // an empty filter would mean every type (I14)

  FreeSlots grant = bench_.slots().take_all(lane);
  request.picks = plan(heads, lanes_[lane].order, grant);
  if (request.picks.empty()) {
    bench_.slots().give_back(lane, grant);
    return std::size_t{0};
  }
  request.owner = settings_.owner;
  request.lease_ms = settings_.lease_ms;
  request.lane = bench_.slots().name(lane);
  if (sent) request.sent_older_than_ms = settings_.sweep_after_ms;

  const Millis request_started = clock_.boot_ms();
  auto tasks = store_.claim_next(request);
  if (!tasks.ok()) {
    // An unknown outcome needs nothing here: the watchdog finds RUNNING tasks of mine that nobody
    // executes.
    if (tasks.error().category == base::ErrorCategory::kOutcomeUnknown)
      metrics_.commit_outcome_unknown.add();
    bench_.slots().give_back(lane, grant);
    return std::move(tasks).error();
  }
  forget_taken(heads, request.picks, *tasks);
  const std::size_t n = tasks->size();
  metrics_.claimed.add(static_cast<std::int64_t>(n));
  start_claimed(lane, std::move(*tasks), grant, request_started);
  bench_.slots().give_back(lane, grant);
  return n;
}

void Consumer::start_claimed(std::size_t lane, std::vector<store::ClaimedTask> tasks,
                             FreeSlots& grant, Millis request_started) {
  for (store::ClaimedTask& task : tasks) {
    auto stop = bench_.map().adopt(task.execution, request_started);
    if (stop == nullptr) continue;  // it runs here already
    std::optional<Slot> slot;
    if (task.priority == 0 && grant.reserved > 0) {
      --grant.reserved;
      slot = Slot{.lane = static_cast<std::uint32_t>(lane), .reserved = true};
    } else if (grant.shared > 0) {
      --grant.shared;
      slot = Slot{.lane = static_cast<std::uint32_t>(lane), .reserved = false};
    }
    bench_.start(std::move(task), slot, std::move(stop));
  }
}

}  // namespace waybill::dispatch
