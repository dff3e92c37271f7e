// Raw inflate (RFC 1951) of one part, by ISA-L.

#ifndef WAYBILL_XLSX_INFLATER_H_
#define WAYBILL_XLSX_INFLATER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace waybill::xlsx {

// Not thread-safe. About 100 KiB, whatever the input.
class Inflater {
 public:
  Inflater();
  ~Inflater();

  // A new stream.
  void begin();
  // The next input. It must stay where it is until next() gives 0. REQUIRES: in.size() < 2^32.
  void feed(std::string_view in);
  // Writes to `out` and returns how many bytes: 0 when more input is needed or the stream is
  // complete. Nothing for bytes that are no deflate.
  std::optional<std::size_t> next(std::span<char> out);
  [[nodiscard]] bool done() const;
  // Whole input bytes that were not needed, those held back for the next code included.
  [[nodiscard]] std::size_t unused() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_INFLATER_H_
