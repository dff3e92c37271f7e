// The storage that all processes share, as badly as the faults tell it to be: it refuses, is full,
// is slow, loses the answer to a commit, shows files late, and keeps what a dead process left half
// written.

#ifndef WAYBILL_TESTS_SIM_STORAGE_H_
#define WAYBILL_TESTS_SIM_STORAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/files.h"
#include "tests/sim/scheduler.h"

namespace waybill::sim {

class World;

class Storage {
 public:
  explicit Storage(World& world) : world_(world) {}

  struct Entry {
    std::string bytes;
    Millis modified = 0;  // wall clock
    Millis visible_at = 0;
    bool hidden = false;
  };

  // What is there, seen by somebody who waits long enough.
  [[nodiscard]] bool holds(std::string_view key) const;
  [[nodiscard]] const std::string& bytes_of(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::size_t hidden() const;

  // As the processes of `group` see it.
  std::unique_ptr<files::Files> connect(Group& group);

 private:
  class View;
  class Sink;
  class Source;
  World& world_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t next_hidden_ = 1;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_STORAGE_H_
