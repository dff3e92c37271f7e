#include "xlsx/inflater.h"

#include <algorithm>
#include <cstdint>

#include <isa-l.h>

namespace waybill::xlsx {

struct Inflater::State {
  inflate_state stream{};
};

Inflater::Inflater() : state_(std::make_unique<State>()) { begin(); }
Inflater::~Inflater() = default;

void Inflater::begin() { isal_inflate_init(&state_->stream); }

void Inflater::feed(std::string_view in) {
  // ISA-L reads through a pointer to non-const.
  state_->stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in.data()));
  state_->stream.avail_in = static_cast<std::uint32_t>(in.size());
}

std::optional<std::size_t> Inflater::next(std::span<char> out) {
  if (done()) return 0;
  inflate_state& stream = state_->stream;
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_inflate(&stream) < 0) return std::nullopt;
  return out.size() - stream.avail_out;
}

bool Inflater::done() const { return state_->stream.block_state == ISAL_BLOCK_FINISH; }

std::size_t Inflater::unused() const {
  const inflate_state& stream = state_->stream;
  return stream.avail_in + static_cast<std::size_t>(std::max(stream.read_in_length, 0)) / 8;
}

}  // namespace waybill::xlsx
