#include "xlsx/shared_strings.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "xlsx/xml_buffer.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kMaxProbes = 16;
constexpr std::size_t kFirstSlots = 1'024;
constexpr std::size_t kMaxBudgetBytes = 1u << 30;  // offsets have 32 bits
// One entry and its slots (twice as many, twice again while they are rebuilt, because growing
// doubles).
constexpr std::size_t kEntryBytes = 16 + 16;
constexpr std::size_t kTypicalTextBytes = 32;  // how the budget is split between text and entries

std::uint64_t load(const char* p, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, p, bytes);
  return value;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t kSeedA = 0x9E37'79B9'7F4A'7C15;  // odd constants with well spread bits
constexpr std::uint64_t kSeedB = 0xD6E8'FEB8'6659'FD93;

std::uint64_t hash_of(std::string_view text) {
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t h = n * kSeedA;
  while (n > 16) {
    h = mix(load(p, 8) ^ h ^ kSeedA, load(p + 8, 8) ^ kSeedB);
    p += 16;
    n -= 16;
  }
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (n >= 8) {
    a = load(p, 8);
    b = load(p + n - 8, 8);
  } else if (n >= 4) {
    a = load(p, 4);
    b = load(p + n - 4, 4);
  } else if (n > 0) {
    a = load(p, n);
  }
  return mix(a ^ h ^ kSeedA, b ^ kSeedB);
}

}  // namespace

SharedStrings::SharedStrings(std::size_t budget_bytes) {
  const std::size_t budget = std::min(budget_bytes, kMaxBudgetBytes);
  entry_capacity_ = budget / (kEntryBytes + kTypicalTextBytes);
  text_capacity_ = entry_capacity_ * kTypicalTextBytes;
  if (entry_capacity_ == 0) return;
  text_ = std::make_unique_for_overwrite<char[]>(text_capacity_ + kTextPadding);
  entries_.reserve(entry_capacity_);
  rebuild(kFirstSlots);
}

std::optional<SharedStrings::Found> SharedStrings::find_or_add(std::string_view text) {
  if (slots_.empty() || text.size() > kMaxTextBytes) return std::nullopt;
  const std::uint64_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
    std::uint32_t& slot = slots_[(hash + probe) & mask];
    if (slot == 0) {
      const std::optional<std::uint32_t> index = add(text, hash);
      if (!index) return std::nullopt;
      slot = *index + 1;
      ++references_;
      if (++findable_ * 2 > slots_.size()) rebuild(slots_.size() * 2);
      return Found{*index, true};
    }
    Entry& entry = entries_[slot - 1];
    if (entry.hash == hash && text_of(entry) == text) {
      entry.repeated = true;
      ++references_;
      return Found{slot - 1, false};
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SharedStrings::add(std::string_view text, std::uint64_t hash) {
  if (entries_.size() == entry_capacity_ || text.size() > text_capacity_ - text_used_)
    return std::nullopt;
  if (!text.empty()) std::memcpy(text_.get() + text_used_, text.data(), text.size());
  entries_.push_back(
      {hash, static_cast<std::uint32_t>(text_used_), static_cast<std::uint16_t>(text.size())});
  text_used_ += text.size();
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

// An entry that finds no slot within kMaxProbes stays in the part but is not found again.
void SharedStrings::rebuild(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].findable) continue;
    for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
      std::uint32_t& slot = slots_[(entries_[i].hash + probe) & (slots - 1)];
      if (slot != 0) continue;
      slot = i + 1;
      break;
    }
  }
}

void SharedStrings::forget_singles() {
  findable_ = 0;
  for (Entry& entry : entries_) {
    entry.findable = entry.findable && entry.repeated;
    findable_ += entry.findable ? 1 : 0;
  }
  std::size_t slots = kFirstSlots;
  while (findable_ * 2 > slots) slots *= 2;
  rebuild(slots);
  slots_.shrink_to_fit();
}

std::size_t SharedStrings::memory_bytes() const {
  return text_used_ + entries_.size() * sizeof(Entry) + slots_.capacity() * sizeof(std::uint32_t);
}

void SharedStrings::put_part(XmlBuffer& out) const {
  out.put(
      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
      "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" count=\"");
  out.put_number(references_);
  out.put("\" uniqueCount=\"");
  out.put_number(entries_.size());
  out.put("\">");
  for (const Entry& entry : entries_) {
    const std::string_view text = text_of(entry);
    out.put(needs_preserve(text) ? "<si><t xml:space=\"preserve\">" : "<si><t>");
    put_escaped(out, {text.data(), text.size()});
    out.put("</t></si>");
  }
  out.put("</sst>");
}

}  // namespace waybill::xlsx
