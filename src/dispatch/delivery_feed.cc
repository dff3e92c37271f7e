#include "dispatch/delivery_feed.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/message.h"

namespace waybill::dispatch {
namespace {

constexpr Millis kClaimRetryMinMs = 100;
constexpr Millis kClaimRetryMaxMs = 5'000;
constexpr std::size_t kMaxPerStep =
    1'000;  // deliveries; stale ones need no slot and could go on for long
constexpr Millis kLookAgainMinMs = 50;  // for transports that cannot tell that something arrived
constexpr Millis kLookAgainMaxMs = 1'000;

// What claim_delivered would have answered, from the row as a locking read saw it.
store::ClaimedTask claimed_from(const store::TaskRow& row) {
  store::ClaimedTask task;
  task.execution = {.id = row.id, .version = row.dispatch_version};
  task.kind = row.kind;
  task.type = row.type;
  task.lane = row.lane;
  task.priority = row.priority;
  task.tenant_id = row.tenant_id;
  task.app_code = row.app_code;
  task.requested_by = row.requested_by;
  task.trace_id = row.trace_id;
  task.job_id = row.job_id;
  task.attempt = row.attempt_count;
  task.max_attempts = row.max_attempts;
  task.max_duration_ms = row.max_duration_ms;
  task.requested_at = row.requested_at;
  task.started_at = row.started_at.value_or(0);
  task.lease_until = row.lease_until.value_or(0);
  task.deadline_at = row.execution_deadline_at.value_or(0);
  return task;
}

}  // namespace

DeliveryFeed::DeliveryFeed(const Settings& settings, std::size_t lane, store::WorkStore& store,
                           transport::Transport& transport, Workbench& bench,
                           std::function<bool()> paused, const base::Clock& clock, Metrics& metrics)
    : settings_(settings),
      lane_(lane),
      store_(store),
      transport_(transport),
      bench_(bench),
      paused_(std::move(paused)),
      clock_(clock),
      metrics_(metrics),
      backoff_(kClaimRetryMinMs, kClaimRetryMaxMs),
      idle_(kLookAgainMinMs, kLookAgainMaxMs) {}

base::Result<Next> DeliveryFeed::step() {
  const auto claiming = bench_.may_claim();
  if (!claiming) {
    drop_held();
    return Next::after(kLookAgainMaxMs);
  }
  const Millis now = clock_.boot_ms();
  if (now < not_before_) return Next::after(not_before_ - now);
  if (!held_.empty()) return after_claim(claim_held());
  if (!bench_.map().guarded() || paused_()) {
    // Nothing is pulled; what the transport has fetched already waits there without an answer.
    set_hold(true);
    return Next::after(kLookAgainMaxMs);
  }
  set_hold(false);
  if (bench_.slots().free(lane_).total() == 0)
    return Next::after(kLookAgainMaxMs);  // woken when a slot becomes free
  accept_all(std::exchange(waiting_, {}));
  WAYBILL_ASSIGN(const std::size_t received, receive_all());
  if (received == 0 && held_.empty()) return Next::after(idle_.next());
  idle_.reset();
  return after_claim(claim_held());
}

Next DeliveryFeed::after_claim(const base::Status& claim) {
  if (claim.ok()) {
    backoff_.reset();
    return Next::at_once();
  }
  // No answer: the deliveries are held, the streams stop pulling, and the claim is tried again
  // (I5).
  if (!backoff_.active()) {
    base::log(base::LogLevel::kError, "delivery.claim_failed",
              {{"lane", bench_.slots().name(lane_)},
               {"held", static_cast<std::int64_t>(held_.size())},
               {"category", base::to_string(claim.error().category)},
               {"message", claim.error().message}});
  }
  set_hold(true);
  const Millis wait = backoff_.next();
  not_before_ = clock_.boot_ms() + wait;
  return Next::after(wait);
}

// P0 first and with its reserved slots; the rest by weight, so that P3 is served while P1 never
// ends.
base::Result<std::size_t> DeliveryFeed::receive_all() {
  std::size_t received = 0;
  const auto take = [&](core::Level level, std::int64_t credit) -> base::Result<bool> {
    WAYBILL_ASSIGN(const std::size_t n, receive(level, static_cast<std::size_t>(credit)));
    received += n;
    return std::cmp_less(n, credit);
  };
  if (const int credit = bench_.slots().free(lane_).total(); credit > 0) {
    WAYBILL_ASSIGN([[maybe_unused]] const bool empty, take(0, credit));
  }
  std::vector<core::Head> levels;
  for (core::Level level = 1; level < core::kLevels; ++level)
    levels.push_back({.level = level, .tenant_id = {}});
  while (!levels.empty() && received < kMaxPerStep) {
    const int credit = bench_.slots().free(lane_).shared;
    if (credit <= 0) break;
    std::array<std::int64_t, core::kLevels> share{};
    for (const core::Pick& pick : core::plan_picks(levels, order_, credit)) {
      share[static_cast<std::size_t>(pick.level)] += pick.n;
    }
    for (core::Level level = 1; level < core::kLevels; ++level) {
      const std::int64_t n = share[static_cast<std::size_t>(level)];
      if (n == 0) continue;
      WAYBILL_ASSIGN(const bool empty, take(level, n));
      if (empty) std::erase_if(levels, [level](const core::Head& h) { return h.level == level; });
    }
  }
  return received;
}

base::Result<std::size_t> DeliveryFeed::receive(core::Level level, std::size_t credit) {
  const transport::Stream stream{.lane = bench_.slots().name(lane_), .level = level};
  WAYBILL_ASSIGN(const auto deliveries, transport_.receive(stream, credit, 0));
  accept_all(deliveries);
  return deliveries.size();
}

void DeliveryFeed::accept_all(const std::vector<transport::Delivery>& deliveries) {
  std::vector<transport::Token> ack;
  std::vector<transport::Token> reject;
  for (const auto& delivery : deliveries) accept(delivery, ack, reject);
  settle(ack, transport::Settle::kAck);
  settle(reject, transport::Settle::kReject);
}

void DeliveryFeed::accept(const transport::Delivery& delivery, std::vector<transport::Token>& ack,
                          std::vector<transport::Token>& reject) {
  const auto message = core::parse_message(delivery.message.payload, delivery.message.properties);
  if (!message.ok()) {
    metrics_.poison_rejected.add();
    base::log(base::LogLevel::kError, "delivery.poison",
              {{"brokerMessageId", base::printable(delivery.broker_message_id, 128)},
               {"message", message.error().message}});
    reject.push_back(delivery.token);
    return;
  }
  if (!message->kind || !bench_.knows(message->type)) {
    // Its row stays as it is; a process that knows the type sweeps it up (I14).
    metrics_.unknown_kind.add();
    ack.push_back(delivery.token);
    return;
  }
  const auto ticket = bench_.map().enter(message->execution);
  if (!ticket) {
    metrics_.duplicate_deliveries.add();
    ack.push_back(delivery.token);
    return;
  }
  const auto slot = bench_.slots().take(lane_, delivery.message.stream.level);
  if (!slot) {
    // Another feed was faster. No answer: it stays ours, unclaimed, until a slot is free.
    bench_.map().leave(message->execution, *ticket);
    waiting_.push_back(delivery);
    return;
  }
  held_.push_back({.execution = message->execution,
                   .token = delivery.token,
                   .slot = *slot,
                   .ticket = *ticket,
                   .unknown_since = std::nullopt});
}

base::Status DeliveryFeed::claim_held() {
  store::ClaimDelivered request{
      .owner = settings_.owner, .lease_ms = settings_.lease_ms, .commands = {}};
  const std::size_t n = std::min(held_.size(), store::kMaxBatch);
  for (std::size_t i = 0; i < n; ++i) request.commands.push_back(held_[i].execution);
  if (n == 0) return {};
  const Millis request_started = clock_.boot_ms();
  auto outcomes = store_.claim_delivered(request);
  if (outcomes.ok() && outcomes->size() != n)
    outcomes = base::internal("the claim answered another number");
  if (!outcomes.ok()) {
    if (outcomes.error().category == base::ErrorCategory::kOutcomeUnknown) {
      metrics_.commit_outcome_unknown.add();
      for (std::size_t i = 0; i < n; ++i) {
        if (!held_[i].unknown_since) held_[i].unknown_since = request_started;
      }
    }
    return outcomes.error();
  }
  // Each element's answer, before anything is acknowledged: a locking read may still be needed, and
  // may fail.
  std::vector<Answer> answers;
  std::vector<Held> undecided;
  base::Status status;
  for (std::size_t i = 0; i < n; ++i) {
    Held& held = held_[i];
    Answer answer{.held = held,
                  .claimed = std::move((*outcomes)[i].claimed),
                  .reason = (*outcomes)[i].reason,
                  .request_started = request_started};
    if (!answer.claimed && held.unknown_since && answer.reason == store::NotClaimed::kRunning) {
      const base::Status resolved = resolve(answer);
      if (!resolved.ok()) {
        status = resolved;
        undecided.push_back(held);
        continue;
      }
    }
    answers.push_back(std::move(answer));
  }
  undecided.insert(undecided.end(), held_.begin() + static_cast<std::ptrdiff_t>(n), held_.end());
  held_ = std::move(undecided);
  answer_all(std::move(answers));
  return status;
}

// The claim's answer was lost once, and now the task is RUNNING: in my name at that version it is
// mine (09 section 2).
base::Status DeliveryFeed::resolve(Answer& answer) {
  auto row = store_.lock_and_read(answer.held.execution.id);
  if (!row.ok()) {
    if (row.error().category == base::ErrorCategory::kNotFound) return {};
    return row.error();
  }
  const bool mine = row->status == core::TaskStatus::kRunning &&
                    row->lease_owner == settings_.owner &&
                    row->dispatch_version == answer.held.execution.version;
  if (!mine || !answer.held.unknown_since) return {};
  answer.claimed = claimed_from(*row);
  answer.request_started = *answer.held.unknown_since;
  return {};
}

void DeliveryFeed::answer_all(std::vector<Answer> answers) {
  // Committed, and not started yet: the moment to acknowledge (I5). From here on the lease is the
  // guarantee, so a failing acknowledgement is only another duplicate.
  std::vector<transport::Token> ack;
  ack.reserve(answers.size());
  for (const Answer& answer : answers) ack.push_back(answer.held.token);
  settle(ack, transport::Settle::kAck);
  for (Answer& answer : answers) {
    const Held& held = answer.held;
    std::shared_ptr<const StopFlag> stop;
    if (answer.claimed)
      stop = bench_.map().confirm(held.execution, held.ticket, answer.request_started);
    if (!answer.claimed || stop == nullptr) {
      if (!answer.claimed) not_claimed(held.execution, answer.reason);
      bench_.map().leave(held.execution, held.ticket);
      bench_.slots().give_back(held.slot);
      continue;
    }
    metrics_.claimed.add();
    bench_.start(std::move(*answer.claimed), held.slot, std::move(stop));
  }
}

void DeliveryFeed::not_claimed(const core::Execution& execution, store::NotClaimed reason) {
  metrics_.not_claimed.add();
  if (reason != store::NotClaimed::kNoTask) return;
  base::log(base::LogLevel::kWarn, "delivery.no_such_task",
            {{"taskId", execution.id}, {"dispatchVersion", execution.version}});
}

void DeliveryFeed::set_hold(bool hold) {
  if (hold == on_hold_) return;
  on_hold_ = hold;
  if (hold) metrics_.holds.add();
  for (core::Level level = 0; level < core::kLevels; ++level) {
    const transport::Stream stream{.lane = bench_.slots().name(lane_), .level = level};
    if (hold) {
      transport_.hold(stream);
    } else {
      transport_.resume(stream);
    }
  }
}

void DeliveryFeed::settle(const std::vector<transport::Token>& tokens, transport::Settle how) {
  if (tokens.empty()) return;
  const base::Status settled = transport_.settle(tokens, how);
  if (settled.ok()) return;
  base::log(base::LogLevel::kWarn, "delivery.not_settled",
            {{"deliveries", static_cast<std::int64_t>(tokens.size())},
             {"message", settled.error().message}});
}

// Shutdown: the transport's close() gives the messages back to the broker.
void DeliveryFeed::drop_held() {
  for (const Held& held : held_) {
    bench_.map().leave(held.execution, held.ticket);
    bench_.slots().give_back(held.slot);
  }
  held_.clear();
  waiting_.clear();
}

}  // namespace waybill::dispatch
