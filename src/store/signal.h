// Wakes one thread once. A POSIX semaphore: unlike std::binary_semaphore it sleeps at once instead
// of spinning with sched_yield, which 64 waiting threads on two cores feel; and it may be destroyed
// as soon as wait() has returned.

#ifndef WAYBILL_STORE_SIGNAL_H_
#define WAYBILL_STORE_SIGNAL_H_

#include <semaphore.h>

#include <cerrno>

namespace waybill::store {

class Signal {
 public:
  Signal() { sem_init(&semaphore_, 0, 0); }
  ~Signal() { sem_destroy(&semaphore_); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void raise() { sem_post(&semaphore_); }
  void wait() {
    while (sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }

 private:
  sem_t semaphore_;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SIGNAL_H_
