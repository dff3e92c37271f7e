#include "transport/memory/memory_broker.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace waybill::transport {
namespace {

using base::Millis;

constexpr int kRedeliveriesBeforeDeath = 2;

struct Stored {
  std::uint64_t id = 0;
  Message message;
  Millis not_before = 0;
  int deliveries = 0;
  int rejections = 0;
  bool dead = false;
};

}  // namespace

struct MemoryBroker::State {
  State(const base::Clock& c, base::Random& r) : clock(c), random(r) {}

  mutable std::mutex mutex;
  const base::Clock& clock;
  base::Random& random;
  // Everything below is guarded by mutex.
  MemoryFaults faults;
  bool down = false;
  std::map<Stream, std::deque<Stored>> streams;
  std::deque<Stored> dead_letters;
  std::map<Token, std::pair<const Connection*, Stored>> unsettled;
  std::vector<std::pair<const Connection*, std::function<void()>>> listeners;
  std::uint64_t last_id = 0;
  Token last_token = 0;
  std::int64_t redelivered = 0;

  bool chance(double probability) { return probability > 0 && random.unit() < probability; }

  void keep(const Message& message, bool with_faults) {
    auto& queue = streams[message.stream];
    Stored stored;
    stored.id = ++last_id;
    stored.message = message;
    auto place = queue.end();
    if (with_faults) {
      if (chance(faults.poison)) damage(stored.message.payload);
      if (chance(faults.delay)) {
        stored.not_before =
            clock.boot_ms() +
            static_cast<Millis>(random.unit() * static_cast<double>(faults.max_delay_ms));
      }
      if (chance(faults.reorder)) {
        place = queue.begin() + static_cast<std::ptrdiff_t>(random.next() % (queue.size() + 1));
      }
    }
    queue.insert(place, std::move(stored));
  }

  void damage(std::string& payload) {
    if (payload.empty()) return;
    payload.resize(payload.size() / 2);
    payload += '\xff';
  }

  void give_back(Stored stored) {
    auto& queue = stored.dead ? dead_letters : streams[stored.message.stream];
    queue.push_front(std::move(stored));
  }

  // Of one connection, or of all. Later deliveries first, so that the front keeps its order.
  void give_back_unsettled(const Connection* of) {
    for (auto it = unsettled.end(); it != unsettled.begin();) {
      --it;
      if (of != nullptr && it->second.first != of) continue;
      give_back(std::move(it->second.second));
      it = unsettled.erase(it);
    }
  }

  std::vector<Delivery> take(const Connection* who, std::deque<Stored>& queue, std::size_t credit) {
    std::vector<Delivery> taken;
    const Millis now = clock.boot_ms();
    for (auto it = queue.begin(); it != queue.end() && taken.size() < credit;) {
      if (it->not_before > now) {
        ++it;
        continue;
      }
      const Token token = ++last_token;
      Delivery delivery{.token = token,
                        .message = it->message,
                        .broker_message_id = "memory-" + std::to_string(it->id),
                        .redeliveries = it->deliveries};
      if (it->deliveries++ > 0) ++redelivered;
      unsettled.emplace(token, std::pair(who, std::move(*it)));
      it = queue.erase(it);
      taken.push_back(std::move(delivery));
    }
    return taken;
  }

  void settle(Token token, const Connection* who, Settle how) {
    const auto it = unsettled.find(token);
    if (it == unsettled.end() || it->second.first != who) return;
    Stored stored = std::move(it->second.second);
    unsettled.erase(it);
    if (how == Settle::kAck) return;
    if (!stored.dead && stored.rejections++ >= kRedeliveriesBeforeDeath) {
      stored.dead = true;
      stored.deliveries = 0;
    }
    give_back(std::move(stored));
  }

  std::vector<std::function<void()>> all_listeners() const {
    std::vector<std::function<void()>> all;
    for (const auto& [connection, listener] : listeners) all.push_back(listener);
    return all;
  }
};

class MemoryBroker::Connection final : public Transport {
 public:
  explicit Connection(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Connection() override { close(); }

  base::Status declare(std::span<const Stream> streams) override {
    const std::lock_guard lock(state_->mutex);
    WAYBILL_TRY(usable());
    for (const Stream& stream : streams) state_->streams.try_emplace(stream);
    return {};
  }

  std::vector<SendOutcome> send(std::span<const Message> messages, Millis deadline_ms) override {
    std::vector<SendOutcome> outcomes;
    std::vector<std::function<void()>> listeners;
    {
      const std::lock_guard lock(state_->mutex);
      outcomes.reserve(messages.size());
      for (const Message& message : messages) outcomes.push_back(send_one(message, deadline_ms));
      listeners = state_->all_listeners();
    }
    for (const auto& listener : listeners) listener();
    return outcomes;
  }

  base::Result<std::vector<Delivery>> receive(const Stream& stream, std::size_t credit,
                                              Millis) override {
    const std::lock_guard lock(state_->mutex);
    WAYBILL_TRY(usable());
    const auto it = state_->streams.find(stream);
    if (it == state_->streams.end()) return unknown(stream);
    if (held_.contains(stream)) return std::vector<Delivery>{};
    return state_->take(this, it->second, credit);
  }

  base::Status settle(std::span<const Token> tokens, Settle how) override {
    const std::lock_guard lock(state_->mutex);
    WAYBILL_TRY(usable());
    for (const Token token : tokens) state_->settle(token, this, how);
    return {};
  }

  void hold(const Stream& stream) override {
    const std::lock_guard lock(state_->mutex);
    held_.insert(stream);
  }

  void resume(const Stream& stream) override {
    std::vector<std::function<void()>> listeners;
    {
      const std::lock_guard lock(state_->mutex);
      held_.erase(stream);
      listeners = state_->all_listeners();
    }
    for (const auto& listener : listeners) listener();
  }

  base::Result<std::vector<Delivery>> dead_letters(std::size_t credit, Millis) override {
    const std::lock_guard lock(state_->mutex);
    WAYBILL_TRY(usable());
    return state_->take(this, state_->dead_letters, credit);
  }

  void on_delivery(std::function<void()> listener) override {
    const std::lock_guard lock(state_->mutex);
    state_->listeners.emplace_back(this, std::move(listener));
  }

  Health health() override {
    const std::lock_guard lock(state_->mutex);
    const base::Status status = usable();
    return status.ok() ? Health{} : Health{.ok = false, .problem = status.error().message};
  }

  void close() override {
    const std::lock_guard lock(state_->mutex);
    if (std::exchange(closed_, true)) return;
    std::erase_if(state_->listeners, [this](const auto& l) { return l.first == this; });
    state_->give_back_unsettled(this);
  }

 private:
  // REQUIRES: the state's mutex.
  [[nodiscard]] base::Status usable() const {
    if (closed_) return base::unavailable("the connection is closed");
    if (state_->down) return base::unavailable("the broker is away");
    return {};
  }

  static base::Error unknown(const Stream& stream) {
    return base::invalid("stream", "stream " + stream.lane + ".p" + std::to_string(stream.level) +
                                       " was not declared");
  }

  SendOutcome send_one(const Message& message, Millis deadline_ms) {
    State& s = *state_;
    const auto refused = [](std::string why) {
      return SendOutcome{.confirmed = false, .error = std::move(why)};
    };
    if (const base::Status status = usable(); !status.ok()) return refused(status.error().message);
    if (s.clock.boot_ms() >= deadline_ms) return refused("not confirmed in time");
    if (message.payload.size() > kMaxPayloadBytes)
      return refused("the message is larger than 65536 bytes");
    if (!s.streams.contains(message.stream)) return refused(unknown(message.stream).message);
    if (s.chance(s.faults.refuse)) return refused("refused by chance");
    if (s.chance(s.faults.lose)) return {.confirmed = true, .error = {}};
    s.keep(message, true);
    if (s.chance(s.faults.repeat)) s.keep(message, true);
    if (s.chance(s.faults.drop_confirm)) return refused("not confirmed in time");
    return {.confirmed = true, .error = {}};
  }

  const std::shared_ptr<State> state_;
  std::set<Stream> held_;  // guarded by the state's mutex
  bool closed_ = false;    // guarded by the state's mutex
};

MemoryBroker::MemoryBroker(const base::Clock& clock, base::Random& random)
    : state_(std::make_shared<State>(clock, random)) {}

MemoryBroker::~MemoryBroker() = default;

std::unique_ptr<Transport> MemoryBroker::connect() { return std::make_unique<Connection>(state_); }

void MemoryBroker::set_faults(const MemoryFaults& faults) {
  const std::lock_guard lock(state_->mutex);
  state_->faults = faults;
}

void MemoryBroker::set_down(bool down) {
  const std::lock_guard lock(state_->mutex);
  state_->down = down;
}

void MemoryBroker::break_connections() {
  const std::lock_guard lock(state_->mutex);
  state_->give_back_unsettled(nullptr);
}

void MemoryBroker::restart_empty() {
  const std::lock_guard lock(state_->mutex);
  for (auto& [stream, queue] : state_->streams) queue.clear();
  state_->dead_letters.clear();
  state_->unsettled.clear();
}

void MemoryBroker::inject(const Message& message) {
  std::vector<std::function<void()>> listeners;
  {
    const std::lock_guard lock(state_->mutex);
    state_->keep(message, false);
    listeners = state_->all_listeners();
  }
  for (const auto& listener : listeners) listener();
}

std::size_t MemoryBroker::waiting(const Stream& stream) const {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->streams.find(stream);
  return it == state_->streams.end() ? 0 : it->second.size();
}

std::size_t MemoryBroker::waiting() const {
  const std::lock_guard lock(state_->mutex);
  std::size_t sum = 0;
  for (const auto& [stream, queue] : state_->streams) sum += queue.size();
  return sum;
}

std::size_t MemoryBroker::unsettled() const {
  const std::lock_guard lock(state_->mutex);
  return state_->unsettled.size();
}

std::size_t MemoryBroker::dead() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dead_letters.size();
}

std::int64_t MemoryBroker::redelivered() const {
  const std::lock_guard lock(state_->mutex);
  return state_->redelivered;
}

}  // namespace waybill::transport
