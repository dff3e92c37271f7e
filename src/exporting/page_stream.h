// The pages of one execution in order, with every rule that holds between pages: one schema, one
// snapshot, cursors that move on, a bounded number of rows and of empty pages.

#ifndef WAYBILL_EXPORTING_PAGE_STREAM_H_
#define WAYBILL_EXPORTING_PAGE_STREAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "exporting/page_source.h"
#include "exporting/provider_client.h"

namespace waybill::exporting {

// Remembers texts by the first 128 bits of their SHA-256, so that a long export remembers 16 bytes
// each.
class SeenTexts {
 public:
  // False when it was there already.
  bool insert(std::string_view text);

 private:
  using Hash = std::array<std::uint8_t, 16>;
  struct First8 {  // the bits are as good as random already
    std::size_t operator()(const Hash& hash) const {
      std::size_t out = 0;
      std::memcpy(&out, hash.data(), sizeof out);
      return out;
    }
  };
  std::unordered_set<Hash, First8> hashes_;
};

// Repeated rows: the contract names no key column, so single rows cannot be compared (equal rows
// may be right). What is noticed is a page that comes again: at least this many rows, all different
// from each other, byte for byte equal to an earlier page.
inline constexpr std::int64_t kRepeatedPageRows = 10;

// Not thread-safe.
class PageStream final : public PageSource {
 public:
  using Fetch = std::function<std::variant<ProviderPage, Failure>(const PageRequest&)>;
  PageStream(Fetch fetch, std::int64_t max_rows);

  NextPage next() override;

 private:
  std::optional<Failure> check_first(const ProviderPage& page);
  std::optional<Failure> check_rows(const ProviderPage& page);
  std::optional<Failure> advance(ProviderPage& page);

  const Fetch fetch_;
  const std::int64_t max_rows_;
  PageRequest request_;
  bool ended_ = false;
  std::string schema_hash_;
  std::int64_t rows_ = 0;
  std::int64_t empty_pages_ = 0;
  SeenTexts cursors_;
  SeenTexts pages_;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_PAGE_STREAM_H_
