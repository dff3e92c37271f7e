// Start-up settings of the export executor: values, units and defaults. The app fills them from its
// configuration.

#ifndef WAYBILL_EXPORTING_SETTINGS_H_
#define WAYBILL_EXPORTING_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/time_zone.h"
#include "xlsx/writer.h"

namespace waybill::exporting {

// The provider contract's limits. They are part of the contract, so they are no settings.
inline constexpr std::size_t kMaxPageBytes = 4u
                                             << 20;  // bytes of one answer, measured while reading
inline constexpr std::size_t kMaxPageColumns = 100;  // columns
inline constexpr std::size_t kMaxTokenCharacters = 512;     // cursor, snapshotToken, schemaHash
inline constexpr std::int64_t kMaxEmptyPages = 100;         // pages without rows in one execution
inline constexpr base::Millis kMaxRetryAfterHere = 30'000;  // waited for inside the execution
inline constexpr base::Millis kMaxRetryAfter =
    900'000;  // longest Retry-After that moves the task's retry

// One entry of the start-up configuration's provider_services.
struct ProviderService {
  std::string base_url;  // scheme, host, port and perhaps a path; no slash at the end needed
  // The internal service token of this moment; asked before every request, so that a rotated file
  // counts at once.
  std::function<base::Result<std::string>()> token;
};

struct ExportSettings {
  std::string owner;  // this process's lease owner, as dispatch uses it
  std::map<std::string, ProviderService, std::less<>> services;

  base::Millis connect_timeout_ms = 3'000;
  base::Millis read_timeout_ms = 15'000;  // request sent to last byte of the page
  std::vector<base::Millis> page_retry_ms{1'000, 2'000, 4'000};  // one local retry each, +0..20 %
  int prefetched_pages =
      1;  // pages fetched ahead; 0 = every page is fetched when it is needed, on the same thread

  std::int64_t min_free_bytes = 256ll << 20;  // of the storage, before an execution starts to write
  // Between two looks at a storage with less than that; grows with every look, up to 15 min.
  base::Millis low_space_retry_ms = 30'000;
  base::TimeZone time_zone;     // of file names, receipts and DATETIME cells
  bool english_titles = false;  // which of a type's titles names files and sheets

  xlsx::FormulaGuard formula_guard = xlsx::FormulaGuard::kQuotePrefix;
  bool cell_refs = true;
  xlsx::Compression compression = xlsx::Compression::kFast;
  std::size_t shared_string_budget_bytes = 8u << 20;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_SETTINGS_H_
