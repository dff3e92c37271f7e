#include "tests/sim/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define WAYBILL_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WAYBILL_SIM_ASAN 1
#endif
#endif
#ifdef WAYBILL_SIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace waybill::sim {
namespace {

Fiber* g_current = nullptr;

// Stacks are used again: mapping one for every execution would cost more than the execution.
class Stacks {
 public:
  ~Stacks() {
    for (char* stack : free_) ::munmap(stack, total());
  }
  char* take() {
    if (!free_.empty()) {
      char* stack = free_.back();
      free_.pop_back();
      return stack;
    }
    void* memory = ::mmap(nullptr, total(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    WAYBILL_CHECK(memory != MAP_FAILED, "no memory for a fiber's stack");
    // An overflow must not write into the neighbour.
    WAYBILL_CHECK(::mprotect(memory, guard(), PROT_NONE) == 0, "no guard page for a fiber");
    return static_cast<char*>(memory);
  }
  void give_back(char* stack) { free_.push_back(stack); }
  static std::size_t guard() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

 private:
  static std::size_t total() { return guard() + kFiberStackBytes; }
  std::vector<char*> free_;
};

Stacks& stacks() {
  static Stacks all;
  return all;
}

}  // namespace

struct Fiber::Context {
  ucontext_t self{};
  ucontext_t back{};
  char* stack = nullptr;
  Fiber* resumer = nullptr;
  bool begun = false;
#ifdef WAYBILL_SIM_ASAN
  void* fake_stack = nullptr;
  const void* back_bottom = nullptr;
  std::size_t back_size = 0;
#endif

  char* bottom() const { return stack + Stacks::guard(); }

  void switch_in() {
#ifdef WAYBILL_SIM_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, bottom(), kFiberStackBytes);
    ::swapcontext(&back, &self);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    ::swapcontext(&back, &self);
#endif
  }
  // `last`: the fiber never comes back.
  void switch_out([[maybe_unused]] bool last) {
#ifdef WAYBILL_SIM_ASAN
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack, back_bottom, back_size);
    ::swapcontext(&self, &back);
    arrived();
#else
    ::swapcontext(&self, &back);
#endif
  }
  void arrived() {
#ifdef WAYBILL_SIM_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, &back_bottom, &back_size);
#endif
  }
};

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), context_(std::make_unique<Context>()) {}

Fiber::~Fiber() {
  WAYBILL_CHECK(finished_ || !context_->begun, "a fiber was destroyed before its end");
  if (context_->stack != nullptr) stacks().give_back(context_->stack);
}

Fiber* Fiber::current() { return g_current; }

// makecontext passes ints, so the pointer travels in two halves.
void Fiber::entry(unsigned low, unsigned high) {
  auto* fiber = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
  fiber->context_->arrived();
  fiber->body_();
  fiber->finished_ = true;
  fiber->context_->switch_out(true);
}

void Fiber::resume() {
  WAYBILL_CHECK(!finished_, "a finished fiber was resumed");
  if (!context_->begun) {
    context_->begun = true;
    context_->stack = stacks().take();
    ::getcontext(&context_->self);
    context_->self.uc_stack.ss_sp = context_->bottom();
    context_->self.uc_stack.ss_size = kFiberStackBytes;
    context_->self.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&context_->self, reinterpret_cast<void (*)()>(&Fiber::entry), 2,
                  static_cast<unsigned>(address & 0xffffffffu),
                  static_cast<unsigned>(address >> 32));
  }
  context_->resumer = std::exchange(g_current, this);
  context_->switch_in();
  g_current = context_->resumer;
}

void Fiber::yield() {
  WAYBILL_CHECK(g_current != nullptr, "yield outside of a fiber");
  g_current->context_->switch_out(false);
}

}  // namespace waybill::sim
