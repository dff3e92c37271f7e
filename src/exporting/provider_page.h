// One answer of a provider, read in one pass without building a tree: the rows stay text until the
// writer takes them.

#ifndef WAYBILL_EXPORTING_PROVIDER_PAGE_H_
#define WAYBILL_EXPORTING_PROVIDER_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "exporting/failure.h"
#include "xlsx/writer.h"

namespace waybill::exporting {

// A move-only value that owns the answer's bytes.
class ProviderPage {
 public:
  ProviderPage() = default;
  ProviderPage(ProviderPage&&) = default;
  ProviderPage& operator=(ProviderPage&&) = default;
  ProviderPage(const ProviderPage&) = delete;
  ProviderPage& operator=(const ProviderPage&) = delete;

  std::string schema_hash;            // empty = missing
  std::string snapshot_token;         // empty = missing
  std::vector<xlsx::Column> columns;  // empty = missing (allowed on later pages)
  std::string next_cursor;            // empty = missing
  bool has_more = false;
  std::optional<std::int64_t> total_rows;  // an estimate for the progress bar, nothing else
  std::int64_t rows = 0;
  bool repaired = false;  // the answer was not UTF-8; ill-formed parts became U+FFFD

  // "[{...},{...}]"; valid while the page lives, also after a move.
  [[nodiscard]] std::string_view rows_json() const {
    return std::string_view(body_).substr(rows_begin_, rows_size_);
  }
  // Bytes behind rows_json() that may be read.
  [[nodiscard]] std::size_t readable_behind() const {
    return body_.size() - rows_begin_ - rows_size_;
  }

 private:
  friend class PageParser;
  std::string body_;
  std::size_t rows_begin_ = 0;
  std::size_t rows_size_ = 0;
};

// Which rules of the contract a page has to keep beyond its form.
struct PageRules {
  std::int64_t max_rows = 500;  // the request's `limit`
  bool first = true;            // columns, schemaHash and snapshotToken are required
};

// Keeps its buffers between pages. Not thread-safe.
class PageParser {
 public:
  PageParser();
  ~PageParser();
  PageParser(const PageParser&) = delete;
  PageParser& operator=(const PageParser&) = delete;

  // Reads the body of an HTTP 200. Text that is not JSON is transient (a cut or mixed-up answer),
  // everything that breaks the contract permanent, with a message that names the field or limit. A
  // code other than "200" is permanent with the provider's message.
  std::variant<ProviderPage, Failure> parse(std::string body, const PageRules& rules);

  // The `message` of an error answer, printable and cut; empty where there is none.
  std::string error_message(std::string body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// True when no two rows of "[{...},{...}]" have the same text. REQUIRES: text that PageParser
// accepted.
bool rows_all_differ(std::string_view rows_json);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_PROVIDER_PAGE_H_
