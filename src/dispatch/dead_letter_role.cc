#include "dispatch/dead_letter_role.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/message.h"

namespace waybill::dispatch {
namespace {

constexpr Millis kRetryMinMs = 200;
constexpr Millis kRetryMaxMs = 30'000;
constexpr Millis kIdleMs = 1'000;
constexpr std::string_view kReason = "the message came back as a dead letter";

std::string_view to_word(store::DeadLetterOutcome outcome) {
  switch (outcome) {
    case store::DeadLetterOutcome::kQuarantined:
      return "quarantined";
    case store::DeadLetterOutcome::kNoTask:
      return "ignored: no such task";
    case store::DeadLetterOutcome::kMovedOn:
      return "ignored: the task has moved on";
    case store::DeadLetterOutcome::kEventDiffers:
      return "ignored: another event id";
    case store::DeadLetterOutcome::kAlreadyQuarantined:
      return "ignored: quarantined before";
  }
  return "ignored";
}

// What a person needs to find the message in the broker: everything it says about itself, made
// printable.
std::string raw_properties(const std::map<std::string, std::string>& properties) {
  std::string text;
  for (const auto& [key, value] : properties) {
    text += base::printable(key, 64) + "=" + base::printable(value, 128) + " ";
    if (text.size() > 2'000) break;
  }
  return text;
}

}  // namespace

DeadLetterRole::DeadLetterRole(const Settings& settings, store::CommandStore& store,
                               transport::Transport& transport, Metrics& metrics)
    : settings_(settings),
      store_(store),
      transport_(transport),
      metrics_(metrics),
      backoff_(kRetryMinMs, kRetryMaxMs) {}

base::Result<Next> DeadLetterRole::step() {
  std::vector<transport::Token> ack;
  std::size_t received = 0;
  // While the database is away letters stay where they are; more would only be held here.
  if (held_.empty()) {
    WAYBILL_ASSIGN(const auto deliveries, transport_.dead_letters(settings_.dead_letter_credit, 0));
    received = deliveries.size();
    for (const auto& delivery : deliveries) accept(delivery, ack);
  }
  std::vector<Letter> still_held;
  std::optional<base::Error> error;
  for (Letter& letter : held_) {
    auto outcome = store_.quarantine(letter.what);
    if (!outcome.ok()) {
      error = std::move(outcome).error();
      still_held.push_back(std::move(letter));
      continue;
    }
    if (*outcome == store::DeadLetterOutcome::kQuarantined) metrics_.dead_letters_quarantined.add();
    audit(letter, *outcome);
    ack.push_back(letter.token);
  }
  held_ = std::move(still_held);
  if (!ack.empty()) {
    // A letter that comes again is found to be settled: nothing to repeat here.
    const base::Status settled = transport_.settle(ack, transport::Settle::kAck);
    if (!settled.ok() && !error) error = settled.error();
  }
  if (!held_.empty()) {
    if (error && !backoff_.active()) {
      base::log(
          base::LogLevel::kError, "dead_letter.held",
          {{"letters", static_cast<std::int64_t>(held_.size())}, {"message", error->message}});
    }
    return Next::after(backoff_.next());
  }
  backoff_.reset();
  if (error) return *std::move(error);
  return received > 0 ? Next::at_once() : Next::after(kIdleMs);
}

void DeadLetterRole::accept(const transport::Delivery& delivery,
                            std::vector<transport::Token>& ack) {
  metrics_.dead_letters.add();
  const auto locator = core::parse_locator(delivery.message.properties);
  if (!locator.ok()) {
    metrics_.dead_letters_malformed.add();
    base::log(base::LogLevel::kCritical, "dead_letter.unidentifiable",
              {{"brokerMessageId", base::printable(delivery.broker_message_id, 128)},
               {"message", locator.error().message},
               {"properties", raw_properties(delivery.message.properties)}});
    ack.push_back(delivery.token);
    return;
  }
  held_.push_back({.token = delivery.token,
                   .broker_message_id = delivery.broker_message_id,
                   .what = {.execution = locator->execution,
                            .event_id = locator->event_id,
                            .reason = std::string(kReason)}});
}

void DeadLetterRole::audit(const Letter& letter, store::DeadLetterOutcome outcome) {
  base::log(base::LogLevel::kAudit, "dead_letter.settled",
            {{"taskId", letter.what.execution.id},
             {"dispatchVersion", letter.what.execution.version},
             {"eventId", letter.what.event_id},
             {"brokerMessageId", base::printable(letter.broker_message_id, 128)},
             {"cause", letter.what.reason},
             {"action", to_word(outcome)}});
}

}  // namespace waybill::dispatch
