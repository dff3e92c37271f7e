#include "base/spawner.h"

#include <pthread.h>
#include <csignal>

#include <system_error>
#include <thread>
#include <utility>

namespace waybill::base {
namespace {
class ThreadSpawned final : public Spawned {
 public:
  explicit ThreadSpawned(std::thread thread) : thread_(std::move(thread)) {}
  ~ThreadSpawned() override { join(); }
  ThreadSpawned(const ThreadSpawned&) = delete;
  ThreadSpawned& operator=(const ThreadSpawned&) = delete;
  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};
}  // namespace

std::unique_ptr<Spawned> ThreadSpawner::spawn(const std::string& name, std::function<void()> body) {
  // The new thread inherits the mask: signals go to the thread that waits for them in the app.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::unique_ptr<Spawned> spawned;
  try {
    std::thread thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      body();
    });
    spawned = std::make_unique<ThreadSpawned>(std::move(thread));
  } catch (const std::system_error&) {
    spawned = nullptr;  // out of threads: the caller reports it
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return spawned;
}

}  // namespace waybill::base
