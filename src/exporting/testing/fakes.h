// Stand-ins for the seams around an export, for the tests of this folder: everything in memory,
// faults on demand, nothing waits.

#ifndef WAYBILL_EXPORTING_TESTING_FAKES_H_
#define WAYBILL_EXPORTING_TESTING_FAKES_H_

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/http_client.h"
#include "exporting/observer.h"
#include "exporting/waiter.h"
#include "files/files.h"
#include "store/store.h"

namespace waybill::exporting::testing {

// Time passes by being waited for.
class ManualWaiter final : public Waiter {
 public:
  explicit ManualWaiter(base::ManualClock& clock) : clock_(clock) {}
  bool wait(base::Millis delay_ms, const std::function<bool()>& stop) override {
    const std::lock_guard lock(mutex_);
    if (stop()) return false;
    delays.push_back(delay_ms);
    clock_.advance(delay_ms);
    if (on_wait) on_wait();
    return !stop();
  }
  std::vector<base::Millis> delays;
  std::function<void()> on_wait;

 private:
  std::mutex mutex_;
  base::ManualClock& clock_;
};

// Answers from a script, then from `otherwise`.
class ScriptedHttp final : public client::HttpClient {
 public:
  using Answer = base::Result<client::Response>;
  base::Result<client::Response> send(const client::Request& request) override {
    std::function<Answer(const client::Request&)> answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (script_.empty()) {
        answer = otherwise;
      } else {
        answer = std::move(script_.front());
        script_.pop_front();
      }
    }
    if (!answer) return base::unavailable("connection refused");
    return answer(request);
  }
  void then(Answer answer) {
    script_.emplace_back([answer = std::move(answer)](const client::Request&) { return answer; });
  }
  void then_call(std::function<Answer(const client::Request&)> answer) {
    script_.push_back(std::move(answer));
  }
  [[nodiscard]] std::vector<client::Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::function<Answer(const client::Request&)> otherwise;

 private:
  mutable std::mutex mutex_;
  std::vector<client::Request> requests_;
  std::deque<std::function<Answer(const client::Request&)>> script_;
};

inline client::Response http_answer(int status, std::string body,
                                    std::vector<std::pair<std::string, std::string>> headers = {}) {
  client::Response response;
  response.status = status;
  response.body = std::move(body);
  response.headers = std::move(headers);
  return response;
}

// A storage in memory.
class MemoryFiles final : public files::Files {
 public:
  struct Entry {
    std::string bytes;
    base::Millis modified_ms = 0;
    bool hidden = false;
  };

  base::Result<std::unique_ptr<files::Sink>> create(std::string_view key) override {
    if (create_error) return *create_error;
    if (!files::valid_key(key)) return base::invalid("key", "not a key");
    if (entries.contains(std::string(key))) return base::conflict("EXISTS", "exists");
    if (on_create) on_create(key);
    ++created;
    return std::unique_ptr<files::Sink>(std::make_unique<MemorySink>(*this, std::string(key)));
  }
  base::Result<std::unique_ptr<files::Source>> open(std::string_view key) override {
    const auto found = entries.find(std::string(key));
    if (found == entries.end()) return base::not_found("absent");
    return std::unique_ptr<files::Source>(std::make_unique<MemorySource>(found->second.bytes));
  }
  base::Result<std::uint64_t> size(std::string_view key) override {
    if (size_error) return *size_error;
    const auto found = entries.find(std::string(key));
    if (found == entries.end()) return base::not_found("absent");
    return found->second.bytes.size();
  }
  base::Status remove(std::string_view key) override {
    removed.emplace_back(key);
    if (remove_error) return *remove_error;
    entries.erase(std::string(key));
    return {};
  }
  base::Status remove_hidden(std::string_view name) override { return remove(name); }
  base::Status list(const std::function<bool(const files::Listed&)>& visit) override {
    for (const auto& [key, entry] : entries) {
      if (!visit({key, entry.bytes.size(), entry.modified_ms, entry.hidden})) break;
    }
    return {};
  }
  base::Result<std::string> storage_id() override {
    if (storage_error) return *storage_error;
    return id;
  }
  base::Status check_writable() override { return {}; }
  base::Result<std::int64_t> free_bytes() override { return free; }

  // What is visible.
  std::map<std::string, Entry> entries;
  std::string id = "11111111-1111-4111-8111-111111111111";
  std::int64_t free = -1;
  int created = 0;
  int open_sinks = 0;  // neither committed nor aborted
  int aborted = 0;
  std::vector<std::string> removed;
  std::function<void(std::string_view key)> on_create;
  std::function<void(std::uint64_t written)> on_write;
  std::function<void()> on_read_back, on_commit;

  // Faults.
  std::optional<base::Error> create_error, commit_error, remove_error, storage_error, size_error;
  std::optional<std::uint64_t> full_at_bytes;  // a write that would go beyond fails
  std::optional<std::uint64_t> flip_byte_at;   // read back wrong from here
  bool commit_despite_error = false;           // the answer was lost, the file is there

 private:
  class MemorySink final : public files::Sink {
   public:
    MemorySink(MemoryFiles& files, std::string key) : files_(files), key_(std::move(key)) {
      ++files_.open_sinks;
    }
    ~MemorySink() override { abort(); }
    base::Status write(std::string_view bytes) override {
      if (files_.full_at_bytes && bytes_.size() + bytes.size() > *files_.full_at_bytes) {
        return base::unavailable("no space left on the device");
      }
      bytes_ += bytes;
      if (files_.on_write) files_.on_write(bytes_.size());
      return {};
    }
    base::Status commit() override {
      if (files_.on_commit) files_.on_commit();
      if (!files_.commit_error || files_.commit_despite_error) {
        files_.entries[key_] = {bytes_, 0, false};
        end();
      }
      if (files_.commit_error) return *files_.commit_error;
      return {};
    }
    void abort() override {
      if (ended_) return;
      ++files_.aborted;
      end();
    }
    base::Result<std::size_t> read_back(std::uint64_t offset, std::span<char> buffer) override {
      if (files_.on_read_back) files_.on_read_back();
      return copy(bytes_, offset, buffer, files_.flip_byte_at);
    }

   private:
    void end() {
      if (!ended_) --files_.open_sinks;
      ended_ = true;
    }
    MemoryFiles& files_;
    const std::string key_;
    std::string bytes_;
    bool ended_ = false;
  };
  class MemorySource final : public files::Source {
   public:
    explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
    base::Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) override {
      return copy(bytes_, offset, buffer, std::nullopt);
    }

   private:
    const std::string bytes_;
  };
  static std::size_t copy(const std::string& bytes, std::uint64_t offset, std::span<char> buffer,
                          std::optional<std::uint64_t> flip_at) {
    if (offset >= bytes.size()) return 0;
    const std::size_t size = std::min<std::size_t>(buffer.size(), bytes.size() - offset);
    std::memcpy(buffer.data(), bytes.data() + offset, size);
    if (flip_at && *flip_at >= offset && *flip_at < offset + size) {
      buffer[static_cast<std::size_t>(*flip_at - offset)] ^= 0x55;
    }
    return size;
  }
};

// The part of the store that an execution uses. Thread-safe where executions run beside the test.
class FakeWorkStore final : public store::WorkStore {
 public:
  base::Result<store::PollReport> poll(const store::Poll&) override {
    return base::internal("unused");
  }
  base::Result<std::vector<store::ClaimedTask>> claim_next(const store::ClaimNext&) override {
    return base::internal("unused");
  }
  base::Result<std::vector<store::DeliveredOutcome>> claim_delivered(
      const store::ClaimDelivered&) override {
    return base::internal("unused");
  }
  base::Result<store::RenewReport> renew(const store::Renew&) override {
    return base::internal("unused");
  }
  base::Result<std::vector<store::FinishOutcome>> finish(std::string_view,
                                                         std::span<const store::Finish>) override {
    return base::internal("unused");
  }
  base::Result<bool> record_object(std::string_view owner, const store::Execution& execution,
                                   std::string_view key, std::string_view storage_id) override {
    if (on_record) on_record();
    recorded.push_back({std::string(owner), execution, std::string(key), std::string(storage_id)});
    if (!record_answers.empty()) {
      auto answer = std::move(record_answers.front());
      record_answers.pop_front();
      return answer;
    }
    return true;
  }
  base::Status save_progress(std::string_view owner,
                             std::span<const store::Progress> items) override {
    progress_owner = std::string(owner);
    if (progress_error) return *progress_error;
    progress.emplace_back(items.begin(), items.end());
    if (on_progress) on_progress();
    return {};
  }
  base::Result<store::ExportRow> load_export(store::TaskId) override {
    if (load_error) return *load_error;
    store::ExportRow row;
    row.parameters_json = parameters_json;
    return row;
  }
  base::Result<store::TaskRow> lock_and_read(store::TaskId) override {
    return base::internal("unused");
  }

  struct Recorded {
    std::string owner;
    store::Execution execution;
    std::string key, storage_id;
  };
  std::vector<Recorded> recorded;
  std::deque<base::Result<bool>> record_answers;
  std::function<void()> on_record, on_progress;
  std::string progress_owner;
  std::vector<std::vector<store::Progress>> progress;
  std::optional<base::Error> progress_error, load_error;
  std::string parameters_json = R"({"status":"ACTIVE"})";
};

class CountingObserver final : public ExportObserver {
 public:
  void on_provider_request(std::string_view, std::string_view, base::Millis, bool ok) override {
    ++(ok ? requests_ok : requests_failed);
  }
  void on_delete_failed() override { ++deletes_failed; }
  void on_expired(std::int64_t files) override { expired += files; }
  void on_orphans_removed(std::int64_t objects) override { orphans += objects; }
  void on_orphan_scan_refused() override { ++refused; }
  void on_storage_bytes(std::int64_t bytes) override { storage_bytes = bytes; }
  std::atomic<int> requests_ok{0}, requests_failed{0}, deletes_failed{0}, refused{0};
  std::atomic<std::int64_t> expired{0}, orphans{0}, storage_bytes{0};
};

}  // namespace waybill::exporting::testing

#endif  // WAYBILL_EXPORTING_TESTING_FAKES_H_
