// A file descriptor with one owner.

#ifndef WAYBILL_FILES_DIRECTORY_DESCRIPTOR_H_
#define WAYBILL_FILES_DIRECTORY_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace waybill::files::directory {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  // What had to reach the disk was fsynced before, so the result of close() decides nothing.
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace waybill::files::directory

#endif  // WAYBILL_FILES_DIRECTORY_DESCRIPTOR_H_
