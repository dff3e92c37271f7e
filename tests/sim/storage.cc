#include "tests/sim/storage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr const char* kStorageId = "11111111-1111-4111-8111-111111111111";
constexpr Millis kMaxSlowMs = 120'000;
constexpr Millis kMaxLateMs = 60'000;

}  // namespace

// One file being written. Its bytes stand under a hidden name until commit().
class Storage::Sink final : public files::Sink {
 public:
  Sink(Storage& storage, View& view, std::string key);
  ~Sink() override;
  base::Status write(std::string_view bytes) override;
  base::Status commit() override;
  void abort() override;
  base::Result<std::size_t> read_back(std::uint64_t offset, std::span<char> buffer) override;

 private:
  Storage& storage_;
  View& view_;
  const std::string key_;
  const std::string hidden_;
  bool ended_ = false;
};

class Storage::Source final : public files::Source {
 public:
  explicit Source(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  base::Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t n = std::min<std::size_t>(buffer.size(), bytes_.size() - offset);
    std::memcpy(buffer.data(), bytes_.data() + offset, n);
    return n;
  }

 private:
  const std::string bytes_;
};

class Storage::View final : public files::Files {
 public:
  View(Storage& storage, Group& group) : storage_(storage), group_(group) {}

  base::Result<std::unique_ptr<files::Sink>> create(std::string_view key) override {
    WAYBILL_TRY(reach());
    if (!files::valid_key(key)) return base::invalid("key", "not a key");
    if (storage_.entries_.contains(key)) return base::conflict("EXISTS", "the key exists");
    return std::unique_ptr<files::Sink>(std::make_unique<Sink>(storage_, *this, std::string(key)));
  }
  base::Result<std::unique_ptr<files::Source>> open(std::string_view key) override {
    WAYBILL_TRY(reach());
    const Entry* entry = visible(key);
    if (entry == nullptr) return base::not_found("absent");
    return std::unique_ptr<files::Source>(std::make_unique<Source>(entry->bytes));
  }
  base::Result<std::uint64_t> size(std::string_view key) override {
    WAYBILL_TRY(reach());
    const Entry* entry = visible(key);
    if (entry == nullptr) return base::not_found("absent");
    return entry->bytes.size();
  }
  base::Status remove(std::string_view key) override {
    WAYBILL_TRY(reach());
    const auto it = storage_.entries_.find(key);
    if (it != storage_.entries_.end()) storage_.entries_.erase(it);
    return {};
  }
  base::Status remove_hidden(std::string_view name) override { return remove(name); }
  base::Status list(const std::function<bool(const files::Listed&)>& visit) override {
    WAYBILL_TRY(reach());
    // A listing is of one moment; what the visitor does may change the storage.
    std::vector<files::Listed> listed;
    for (const auto& [key, entry] : storage_.entries_) {
      if (entry.visible_at > storage_.world_.scheduler.now()) continue;
      listed.push_back({key, entry.bytes.size(), entry.modified, entry.hidden});
    }
    for (const files::Listed& one : listed) {
      if (!visit(one)) break;
    }
    return {};
  }
  base::Result<std::string> storage_id() override {
    WAYBILL_TRY(reach());
    return std::string(kStorageId);
  }
  base::Status check_writable() override { return reach(); }
  base::Result<std::int64_t> free_bytes() override {
    WAYBILL_TRY(reach());
    return std::int64_t{-1};
  }

  // What every call goes through: time, death, and trouble.
  base::Status reach() {
    World& world = storage_.world_;
    const Faults& f = world.faults;
    if (world.faulty && world.scheduler.chance(f.files_slow)) {
      world.scheduler.sleep(world.scheduler.between(1, kMaxSlowMs));
    } else if (world.scheduler.chance(0.2)) {
      world.scheduler.sleep(world.scheduler.between(0, 20));
    }
    if (group_.dead) return base::unavailable("the process is gone");
    const bool away = world.scheduler.now() < world.storage_away_until;
    if (world.faulty && (away || world.scheduler.chance(f.files_refuse)))
      return base::unavailable("the storage is away");
    return {};
  }
  [[nodiscard]] bool dead() const { return group_.dead; }

 private:
  const Entry* visible(std::string_view key) const {
    const auto it = storage_.entries_.find(key);
    if (it == storage_.entries_.end() || it->second.hidden) return nullptr;
    return it->second.visible_at > storage_.world_.scheduler.now() ? nullptr : &it->second;
  }
  Storage& storage_;
  Group& group_;
};

Storage::Sink::Sink(Storage& storage, View& view, std::string key)
    : storage_(storage),
      view_(view),
      key_(std::move(key)),
      hidden_(".tmp-" + std::to_string(storage.next_hidden_++)) {
  storage_.entries_[hidden_] = {
      .bytes = {}, .modified = storage_.world_.scheduler.clock.wall_ms(), .hidden = true};
}

// A process that dies leaves its half.
Storage::Sink::~Sink() { abort(); }

base::Status Storage::Sink::write(std::string_view bytes) {
  WAYBILL_TRY(view_.reach());
  World& world = storage_.world_;
  const auto it = storage_.entries_.find(hidden_);
  if (it == storage_.entries_.end()) return base::unavailable("somebody removed the file");
  if (world.faulty && world.scheduler.chance(world.faults.files_full)) {
    it->second.bytes += bytes.substr(0, bytes.size() / 2);
    return base::unavailable("no space left on the device");
  }
  it->second.bytes += bytes;
  it->second.modified = world.scheduler.clock.wall_ms();
  return {};
}

base::Status Storage::Sink::commit() {
  WAYBILL_TRY(view_.reach());
  World& world = storage_.world_;
  const auto it = storage_.entries_.find(hidden_);
  if (it == storage_.entries_.end()) return base::unavailable("somebody removed the file");
  const bool lost = world.faulty && world.scheduler.chance(world.faults.files_commit_lost);
  const bool unknown = world.faulty && world.scheduler.chance(world.faults.files_commit_unknown);
  const bool happens = !lost && (!unknown || world.scheduler.chance(0.5));
  if (happens) {
    ended_ = true;
    Entry entry = std::move(it->second);
    storage_.entries_.erase(it);
    entry.hidden = false;
    entry.modified = world.scheduler.clock.wall_ms();
    if (world.faulty && world.scheduler.chance(world.faults.files_late))
      entry.visible_at = world.scheduler.now() + world.scheduler.between(1, kMaxLateMs);
    storage_.entries_[key_] = std::move(entry);
  }
  if (unknown) return base::outcome_unknown("the answer to the commit was lost");
  if (lost) return base::unavailable("the storage refused the commit");
  return {};
}

void Storage::Sink::abort() {
  if (std::exchange(ended_, true) || view_.dead()) return;
  storage_.entries_.erase(hidden_);
}

base::Result<std::size_t> Storage::Sink::read_back(std::uint64_t offset, std::span<char> buffer) {
  WAYBILL_TRY(view_.reach());
  const auto it = storage_.entries_.find(hidden_);
  if (it == storage_.entries_.end()) return base::unavailable("somebody removed the file");
  const std::string& bytes = it->second.bytes;
  if (offset >= bytes.size()) return std::size_t{0};
  const std::size_t n = std::min<std::size_t>(buffer.size(), bytes.size() - offset);
  std::memcpy(buffer.data(), bytes.data() + offset, n);
  return n;
}

bool Storage::holds(std::string_view key) const {
  const auto it = entries_.find(key);
  return it != entries_.end() && !it->second.hidden;
}

const std::string& Storage::bytes_of(std::string_view key) const {
  static const std::string kNone;
  const auto it = entries_.find(key);
  return it == entries_.end() ? kNone : it->second.bytes;
}

std::vector<std::string> Storage::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) {
    if (!entry.hidden) keys.push_back(key);
  }
  return keys;
}

std::size_t Storage::hidden() const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const auto& entry) { return entry.second.hidden; }));
}

std::unique_ptr<files::Files> Storage::connect(Group& group) {
  return std::make_unique<View>(*this, group);
}

}  // namespace waybill::sim
