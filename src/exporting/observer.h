// What the export side tells the metrics. Calls come from any thread, must be quick and must not
// throw.

#ifndef WAYBILL_EXPORTING_OBSERVER_H_
#define WAYBILL_EXPORTING_OBSERVER_H_

#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace waybill::exporting {

// Thread-safe. Every default does nothing.
class ExportObserver {
 public:
  virtual ~ExportObserver() = default;
  // One HTTP call to a provider, retries counted one by one. `ok`: it gave a usable page.
  virtual void on_provider_request(std::string_view /*service*/, std::string_view /*type*/,
                                   base::Millis /*took_ms*/, bool /*ok*/) {}
  // A stored object could not be deleted; it is tried again (file_delete_failed_total).
  virtual void on_delete_failed() {}
  // A file whose time was over is gone (export_reconciler_action_total{action="expire"}).
  virtual void on_expired(std::int64_t /*files*/) {}
  // An object that no task records is gone (action="orphan_clean").
  virtual void on_orphans_removed(std::int64_t /*objects*/) {}
  // The orphan scan refused to delete; a person has to look.
  virtual void on_orphan_scan_refused() {}
  // Bytes of all visible objects, as the last orphan scan saw them (export_storage_bytes).
  virtual void on_storage_bytes(std::int64_t /*bytes*/) {}
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_OBSERVER_H_
