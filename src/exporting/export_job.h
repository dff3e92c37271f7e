// One execution of one export: what happens in which order, and what is left behind in every case.

#ifndef WAYBILL_EXPORTING_EXPORT_JOB_H_
#define WAYBILL_EXPORTING_EXPORT_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dispatch/executor.h"
#include "exporting/export_executor.h"
#include "exporting/export_output.h"
#include "exporting/failure.h"
#include "exporting/guard.h"
#include "exporting/page_source.h"
#include "exporting/receipt.h"
#include "registry/registry.h"

namespace waybill::exporting {

// Not thread-safe; run() is called once. Settings and services must outlive it.
class ExportJob {
 public:
  ExportJob(const ExportServices& services, const ExportSettings& settings, store::ClaimedTask task,
            std::shared_ptr<const dispatch::StopFlag> stop);

  // The whole execution. Whatever fails, nothing of it stays in the storage; after success the
  // object stays until the outcome's `settled` says otherwise.
  dispatch::Outcome run();

 private:
  using Problem = std::optional<Failure>;  // nullopt: go on

  Problem prepare();
  Problem check_space();
  [[nodiscard]] base::Millis space_pause() const;
  Problem export_pages();
  Problem write_pages(PageSource& pages);
  Problem open_output(ProviderPage& first);
  Problem record_object();
  Problem append(const ProviderPage& page);
  Problem finish_output();
  Problem commit_output();
  [[nodiscard]] Problem stop_problem() const;
  [[nodiscard]] Failure writer_failure(const base::Error& error) const;
  void drop_output();
  void log_failure(const store::Finish& finish) const;
  void warn_about_cells() const;

  [[nodiscard]] dispatch::Outcome success();
  [[nodiscard]] dispatch::Outcome failed(const Failure& failure) const;
  [[nodiscard]] dispatch::Outcome stop_outcome() const;
  [[nodiscard]] xlsx::WriterOptions writer_options() const;
  [[nodiscard]] std::string title() const;

  const ExportServices& services_;
  const ExportSettings& settings_;
  const store::ClaimedTask task_;
  Guard guard_;
  const base::Millis began_boot_ms_;

  std::shared_ptr<const registry::Snapshot> snapshot_;  // keeps type_ alive through reloads
  const registry::ExportType* type_ = nullptr;
  const ProviderService* service_ = nullptr;
  std::string parameters_json_;
  std::string key_;
  std::string storage_id_;
  std::unique_ptr<ExportOutput> output_;
  Receipt receipt_;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_EXPORT_JOB_H_
