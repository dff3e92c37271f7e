#include "dispatch/publisher.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/message.h"
#include "core/timing.h"
#include "dispatch/workers_json.h"

namespace waybill::dispatch {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr Millis kCrowdedMinMs = 100;
constexpr std::size_t kMaxSendError = 500;  // characters, column outbox.last_error

transport::Message to_message(const store::Command& command, std::int32_t schema_version) {
  core::CommandMessage what;
  what.execution = command.execution;
  what.event_id = command.event_id;
  what.kind = command.kind;
  what.type = command.type;
  what.occurred_at = command.occurred_at;
  what.trace_id = command.trace_id;
  what.schema_version = schema_version;
  core::EncodedMessage encoded = core::build_message(what);
  transport::Message message;
  message.stream = {.lane = command.lane, .level = command.priority};
  message.key = std::to_string(command.execution.id);
  message.tag = std::string(core::to_string(command.kind)) + "_TASK";
  message.properties = std::move(encoded.properties);
  message.payload = std::move(encoded.payload);
  return message;
}

}  // namespace

Publisher::Publisher(const Settings& settings, store::Store& store, transport::Transport& transport,
                     const base::Clock& clock, Metrics& metrics)
    : settings_(settings),
      store_(store),
      transport_(transport),
      clock_(clock),
      metrics_(metrics),
      crowded_(kCrowdedMinMs, settings.publisher_poll_ms) {}

base::Result<Next> Publisher::step() {
  WAYBILL_TRY(settle_rest());
  WAYBILL_ASSIGN(const store::PollReport report,
                 store_.poll({.owner = settings_.owner, .known_types = {}}));
  std::map<std::string, std::vector<core::Head>, std::less<>> heads;
  for (const auto& [lane, head] : report.heads) {
    const bool mine = std::any_of(settings_.lanes.begin(), settings_.lanes.end(),
                                  [&](const LaneSettings& l) { return l.name == lane; });
    if (mine) heads[lane].push_back(head);
  }
  Millis wait = settings_.publisher_poll_ms;
  if (report.next_due_in_ms) wait = std::min(wait, std::max<Millis>(*report.next_due_in_ms, 1));
  if (heads.empty()) return Next::after(wait);

  WAYBILL_TRY(refresh_instances(clock_.boot_ms()));
  WAYBILL_ASSIGN(const Room free, room());
  Pass pass;
  for (const auto& [lane, lane_heads] : heads)
    WAYBILL_TRY(publish_lane(lane, lane_heads, free, pass));
  if (pass.leased > 0) crowded_.reset();
  if (pass.more) return Next::at_once();
  // Quick tasks empty the window within milliseconds, long exports in hours.
  if (pass.crowded) wait = std::min(wait, crowded_.next());
  return Next::after(wait);
}

base::Status Publisher::refresh_instances(Millis now) {
  if (instances_at_ && now - *instances_at_ < settings_.instances_refresh_ms) return {};
  WAYBILL_ASSIGN(const auto instances, store_.instances());
  live_workers_.clear();
  std::int32_t lowest = core::kMessageSchemaVersion;
  for (const store::InstanceRow& instance : instances) {
    if (!instance.alive) continue;
    lowest = std::min(lowest, std::max(instance.schema_version, 1));
    for (const auto& [lane, workers] : parse_workers(instance.workers_json))
      live_workers_[lane] += workers;
  }
  schema_version_ = lowest;
  instances_at_ = now;
  return {};
}

base::Result<Publisher::Room> Publisher::room() {
  Room room;
  // Without a sweep nobody but the broker hands a command over, so a window full of lost messages
  // would stop the lane.
  const bool limited = settings_.sweep_after_ms > 0;
  for (const LaneSettings& lane : settings_.lanes) {
    const auto live = live_workers_.find(lane.name);
    const std::int64_t workers = live == live_workers_.end() ? 0 : live->second;
    const std::int64_t window =
        limited ? std::max(settings_.window_per_worker * workers, settings_.window_min) : kNoLimit;
    for (core::Level level = 0; level < core::kLevels; ++level) room[{lane.name, level}] = window;
  }
  if (!limited) return room;
  WAYBILL_ASSIGN(const auto counts, store_.sent_counts());
  for (const store::SentCount& count : counts) {
    if (const auto it = room.find({count.lane, count.level}); it != room.end()) {
      it->second = std::max<std::int64_t>(it->second - count.sent, 0);
    }
  }
  return room;
}

base::Status Publisher::publish_lane(const std::string& lane, const std::vector<core::Head>& heads,
                                     const Room& room, Pass& pass) {
  std::vector<core::Head> open;
  std::map<core::Level, std::int64_t> left;
  for (const core::Head& head : heads) {
    const auto free = room.find({lane, head.level});
    if (free == room.end() || free->second == 0) {
      pass.crowded = true;
      continue;
    }
    open.push_back(head);
    left[head.level] = free->second;
  }
  store::LeaseCommands request{
      .owner = settings_.owner, .lease_ms = settings_.command_lease_ms, .lane = lane, .picks = {}};
  // The order may give one level more than its window holds; what is cut here goes to the others in
  // the next pass.
  for (core::Pick& pick : core::plan_picks(open, order_[lane], settings_.publisher_batch)) {
    std::int64_t& free = left[pick.level];
    pass.crowded = pass.crowded || pick.n > free;
    pick.n = std::min(pick.n, free);
    free -= pick.n;
    const auto same =
        std::find_if(request.picks.begin(), request.picks.end(), [&](const core::Pick& p) {
          return p.level == pick.level && p.tenant_id == pick.tenant_id;
        });
    if (same != request.picks.end()) {
      same->n += pick.n;
    } else if (pick.n > 0) {
      request.picks.push_back(std::move(pick));
    }
  }
  if (request.picks.empty()) return {};
  const Millis leased_at = clock_.boot_ms();
  // An unknown outcome needs no replay: the leases run out and the reconciler releases the
  // commands.
  WAYBILL_ASSIGN(const auto commands, store_.lease_commands(request));
  if (commands.empty()) return {};
  pass.leased += commands.size();
  pass.more = pass.more || std::ssize(commands) >= settings_.publisher_batch;
  return send(commands, leased_at);
}

base::Status Publisher::send(const std::vector<store::Command>& commands, Millis leased_at) {
  std::vector<transport::Message> messages;
  messages.reserve(commands.size());
  for (const store::Command& command : commands)
    messages.push_back(to_message(command, schema_version_));
  const auto outcomes = transport_.send(messages, clock_.boot_ms() + settings_.send_deadline_ms);

  std::vector<store::SettleCommand> items;
  items.reserve(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    store::SettleCommand item;
    item.execution = commands[i].execution;
    item.attempt = commands[i].attempt;
    item.sent = i < outcomes.size() && outcomes[i].confirmed;
    if (item.sent) {
      metrics_.sent.add();
    } else {
      metrics_.send_failures.add();
      item.error = i < outcomes.size()
                       ? std::string(base::utf8_prefix(outcomes[i].error, kMaxSendError))
                       : "the broker did not answer";
      item.retry_in_ms =
          core::send_backoff_ms(commands[i].fail_count + 1, settings_.send_backoff_ms);
    }
    items.push_back(std::move(item));
  }
  return settle(std::move(items), leased_at + settings_.command_lease_ms);
}

base::Status Publisher::settle(std::vector<store::SettleCommand> items, Millis lease_ends) {
  const auto changed = store_.settle_commands(settings_.owner, items);
  if (!changed.ok()) {
    // Conditional on the lease, so a repetition after an unknown outcome is safe.
    if (changed.error().category == base::ErrorCategory::kOutcomeUnknown)
      metrics_.commit_outcome_unknown.add();
    unsettled_.push_back({.items = std::move(items), .lease_ends = lease_ends});
    return changed.error();
  }
  metrics_.fenced_settle.add(std::max<std::int64_t>(std::ssize(items) - *changed, 0));
  return {};
}

base::Status Publisher::settle_rest() {
  while (!unsettled_.empty()) {
    Unsettled batch = std::move(unsettled_.back());
    unsettled_.pop_back();
    if (batch.lease_ends <= clock_.boot_ms()) {
      base::log(base::LogLevel::kWarn, "publisher.settle_given_up",
                {{"commands", static_cast<std::int64_t>(batch.items.size())}});
      continue;
    }
    WAYBILL_TRY(settle(std::move(batch.items), batch.lease_ends));
  }
  return {};
}

}  // namespace waybill::dispatch
