#include "exporting/page_stream.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"

namespace waybill::exporting {

using core::FailureClass;

bool SeenTexts::insert(std::string_view text) {
  const base::Sha256Digest digest = base::sha256(text);
  Hash hash{};
  std::copy_n(digest.begin(), hash.size(), hash.begin());
  return hashes_.insert(hash).second;
}

PageStream::PageStream(Fetch fetch, std::int64_t max_rows)
    : fetch_(std::move(fetch)), max_rows_(max_rows) {}

NextPage PageStream::next() {
  if (ended_) return EndOfPages{};
  auto fetched = fetch_(request_);
  if (auto* failure = std::get_if<Failure>(&fetched)) return std::move(*failure);
  auto& page = std::get<ProviderPage>(fetched);
  if (auto failure = check_first(page)) return *std::move(failure);
  if (auto failure = check_rows(page)) return *std::move(failure);
  if (auto failure = advance(page)) return *std::move(failure);
  return std::move(page);
}

std::optional<Failure> PageStream::check_first(const ProviderPage& page) {
  if (request_.first) {
    schema_hash_ = page.schema_hash;
    request_.snapshot_token = page.snapshot_token;
    return std::nullopt;
  }
  if (page.schema_hash == schema_hash_) return std::nullopt;
  return permanent(
      FailureClass::kValidation,
      "The business service changed the columns (schemaHash) during the export. Please "
      "start it again.");
}

std::optional<Failure> PageStream::check_rows(const ProviderPage& page) {
  rows_ += page.rows;
  if (rows_ > max_rows_) {
    return permanent(FailureClass::kLimit, "The result has more than " + std::to_string(max_rows_) +
                                               " rows, the limit of this export (max_rows). Please "
                                               "narrow the filter.");
  }
  if (page.rows == 0 && ++empty_pages_ > kMaxEmptyPages) {
    return permanent(FailureClass::kLimit, "The business service sent more than " +
                                               std::to_string(kMaxEmptyPages) + " empty pages.");
  }
  const bool repeated = page.rows >= kRepeatedPageRows && !pages_.insert(page.rows_json()) &&
                        rows_all_differ(page.rows_json());
  if (repeated) {
    return transient(FailureClass::kSystem, "The business service sent the same rows twice.");
  }
  return std::nullopt;
}

std::optional<Failure> PageStream::advance(ProviderPage& page) {
  request_.first = false;
  if (!page.has_more) {
    ended_ = true;
    return std::nullopt;
  }
  if (page.next_cursor.empty()) {
    return transient(FailureClass::kSystem,
                     "The business service announced more rows but gave no cursor (nextCursor).");
  }
  if (!cursors_.insert(page.next_cursor)) {
    return transient(
        FailureClass::kSystem,
        "The business service repeated a cursor (nextCursor): the rows do not advance.");
  }
  request_.cursor = std::move(page.next_cursor);
  return std::nullopt;
}

}  // namespace waybill::exporting
