#include "exporting/export_job.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "core/object_key.h"
#include "exporting/file_name.h"
#include "exporting/page_stream.h"
#include "exporting/prefetched_pages.h"
#include "exporting/provider_client.h"

namespace waybill::exporting {

using core::FailureClass;
using dispatch::Outcome;
using dispatch::StopReason;

namespace {

constexpr std::int64_t kMaxSpaceDoublings = 10;  // of ExportSettings::low_space_retry_ms

}  // namespace

ExportJob::ExportJob(const ExportServices& services, const ExportSettings& settings,
                     store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop)
    : services_(services),
      settings_(settings),
      task_(std::move(task)),
      guard_(std::move(stop), services.clock, task_.deadline_at - task_.started_at),
      began_boot_ms_(services.clock.boot_ms()) {
  receipt_.snapshot_at = task_.started_at;
}

Outcome ExportJob::run() {
  Problem problem = prepare();
  if (!problem) problem = export_pages();
  services_.progress.forget(task_.execution);
  if (!problem) return success();
  drop_output();
  return failed(*problem);
}

// Everything that can be known before the provider is asked.
ExportJob::Problem ExportJob::prepare() {
  if (auto problem = stop_problem()) return problem;
  snapshot_ = services_.registry();
  const auto entry = snapshot_->exports.find(task_.type);
  // Removed between the claim and now: the queue keeps it until the type is known again (I14).
  if (entry == snapshot_->exports.end()) return released();
  type_ = &entry->second;
  const auto service = settings_.services.find(type_->provider_service);
  if (service == settings_.services.end()) {
    return permanent(FailureClass::kSystem, "The service " + type_->provider_service +
                                                " of this export is not configured.");
  }
  service_ = &service->second;
  if (task_.tenant_id.empty() || task_.app_code.empty() || task_.requested_by.empty()) {
    return permanent(FailureClass::kValidation,
                     "The task does not say for whom it is (tenantId, appCode, requestedBy).");
  }
  auto row = services_.store.load_export(task_.execution.id);
  if (!row.ok() && row.error().category == base::ErrorCategory::kNotFound) return fenced();
  if (!row.ok()) return failure_of(row.error(), "reading the task");
  parameters_json_ = std::move(row->parameters_json);
  return check_space();
}

ExportJob::Problem ExportJob::check_space() {
  auto storage_id = services_.files.storage_id();
  if (!storage_id.ok()) return failure_of(storage_id.error(), "opening the file storage");
  storage_id_ = *std::move(storage_id);
  const auto free = services_.files.free_bytes();
  if (!free.ok()) return failure_of(free.error(), "asking the file storage for free space");
  if (free.value() >= 0 && free.value() < settings_.min_free_bytes) {
    return postponed("The file storage has too little free space. It is tried again automatically.",
                     space_pause());
  }
  return std::nullopt;
}

// Doubles with every release: the version is ahead of the attempts by the releases (and by the
// attempts before a manual retry). A disk that is full for days costs a few rows of history a day.
base::Millis ExportJob::space_pause() const {
  const auto released = std::clamp<std::int64_t>(
      std::int64_t{task_.execution.version} - task_.attempt, 0, kMaxSpaceDoublings);
  return std::min(settings_.low_space_retry_ms << released, core::kMaxRetryAfterMs);
}

ExportJob::Problem ExportJob::export_pages() {
  ProviderClient client({task_, parameters_json_, type_->provider_service, *service_,
                         type_->provider_path, type_->batch_size},
                        {services_.http, services_.waiter, services_.clock, services_.random,
                         services_.observer, settings_, guard_});
  PageStream stream([&client](const PageRequest& request) { return client.fetch(request); },
                    type_->max_rows);
  Problem problem;
  if (settings_.prefetched_pages > 0) {
    PrefetchedPages ahead(stream, guard_, services_.spawner,
                          static_cast<std::size_t>(settings_.prefetched_pages));
    problem = write_pages(ahead);
  } else {
    problem = write_pages(stream);
  }
  return problem;
}

// The output is finished in here as well, while the guard is not abandoned yet.
ExportJob::Problem ExportJob::write_pages(PageSource& pages) {
  while (true) {
    NextPage next = pages.next();
    if (auto* failure = std::get_if<Failure>(&next)) return std::move(*failure);
    if (std::holds_alternative<EndOfPages>(next)) return finish_output();
    auto& page = std::get<ProviderPage>(next);
    if (auto problem = stop_problem()) return problem;
    if (!output_) {
      if (auto problem = open_output(page)) return problem;
    }
    if (auto problem = append(page)) return problem;
  }
}

// A provider that never answers leaves no object: the file begins with the first page.
ExportJob::Problem ExportJob::open_output(ProviderPage& first) {
  if (auto problem = record_object()) return problem;
  auto sink = services_.files.create(key_);
  if (!sink.ok()) return failure_of(sink.error(), "creating the file");
  output_ = std::make_unique<ExportOutput>(*std::move(sink), guard_.as_function());
  const base::Status opened = output_->open(std::move(first.columns), writer_options());
  if (!opened.ok()) return writer_failure(opened.error());
  return std::nullopt;
}

// Before the first byte: from here on whoever recovers the task knows which object to remove.
ExportJob::Problem ExportJob::record_object() {
  key_ = core::make_object_key({task_.execution, base::make_uuid(services_.random)});
  const auto record = [this] {
    return services_.store.record_object(settings_.owner, task_.execution, key_, storage_id_);
  };
  auto recorded = record();
  // Conditional, so asking again after a lost answer is safe.
  if (!recorded.ok() && recorded.error().category == base::ErrorCategory::kOutcomeUnknown)
    recorded = record();
  if (!recorded.ok()) return failure_of(recorded.error(), "recording the file on the task");
  if (!recorded.value()) return fenced();
  return std::nullopt;
}

ExportJob::Problem ExportJob::append(const ProviderPage& page) {
  ++receipt_.pages;
  receipt_.rows_received += page.rows;
  receipt_.pages_repaired += page.repaired ? 1 : 0;
  if (page.total_rows) receipt_.estimated_rows = page.total_rows;
  if (page.rows > 0) {
    const auto appended = output_->append(page);
    if (!appended.ok()) return writer_failure(appended.error());
    if (appended.value() != page.rows) {
      return transient(FailureClass::kSystem, "The rows of a page could not be read completely.");
    }
  }
  services_.progress.report(task_.execution, output_->rows(), receipt_.estimated_rows);
  return std::nullopt;
}

ExportJob::Problem ExportJob::finish_output() {
  auto report = output_->close();
  if (!report.ok()) return writer_failure(report.error());
  receipt_.report = *std::move(report);
  if (receipt_.report.rows != receipt_.rows_received) {
    return transient(FailureClass::kSystem,
                     "The file holds another number of rows than were received.");
  }
  const base::Status verified = output_->verify(receipt_.report);
  if (!verified.ok()) return failure_of(verified.error(), "checking the finished file");
  if (auto problem = stop_problem()) return problem;
  return commit_output();
}

ExportJob::Problem ExportJob::commit_output() {
  const base::Status committed = output_->commit();
  if (committed.ok()) return std::nullopt;
  if (committed.error().category == base::ErrorCategory::kOutcomeUnknown) {
    const auto size = services_.files.size(key_);
    if (size.ok() && size.value() == output_->bytes()) return std::nullopt;
  }
  return failure_of(committed.error(), "storing the file");
}

ExportJob::Problem ExportJob::stop_problem() const {
  if (guard_.reason() != StopReason::kNone) return stopped();
  return std::nullopt;
}

Failure ExportJob::writer_failure(const base::Error& error) const {
  if (error.category == base::ErrorCategory::kLimit && error.field == "max_file_bytes") {
    return permanent(
        FailureClass::kLimit,
        "The file is larger than " + std::to_string(type_->max_file_bytes >> 20) +
            " MiB, the limit of this export (max_file_mib). Please narrow the filter.");
  }
  return failure_of(error, "writing the file");
}

// B28: every failure path removes its own object.
void ExportJob::drop_output() {
  if (!output_) return;
  const bool may_be_visible = output_->commit_tried();
  output_.reset();
  // A failed deletion is noted and tried again by the remover itself.
  if (may_be_visible) static_cast<void>(services_.remover.remove(storage_id_, key_));
}

Outcome ExportJob::success() {
  receipt_.sha256 = output_->sha256();
  receipt_.duration_ms = services_.clock.boot_ms() - began_boot_ms_;
  warn_about_cells();
  store::ExportResult result;
  result.object_key = key_;
  result.storage_id = storage_id_;
  result.file_name = export_file_name(title(), services_.clock.wall_ms(), settings_.time_zone);
  result.content_type = kContentType;
  result.size_bytes = static_cast<std::int64_t>(output_->bytes());
  result.sha256 = receipt_.sha256;
  result.rows = receipt_.report.rows;
  result.receipt_json = receipt_json(receipt_, settings_.time_zone);
  result.keep_ms = type_->retention_ms;
  output_.reset();

  Outcome outcome;
  outcome.finish.event = core::Event::kSucceed;
  outcome.finish.result = std::move(result);
  outcome.settled = [&remover = services_.remover, storage_id = storage_id_,
                     key = key_](store::FinishOutcome how) {
    if (how != store::FinishOutcome::kCommitted) static_cast<void>(remover.remove(storage_id, key));
  };
  return outcome;
}

Outcome ExportJob::failed(const Failure& failure) const {
  Outcome outcome;
  store::Finish& finish = outcome.finish;
  finish.failure_class = failure.failure_class;
  finish.failure_message = failure.message;
  switch (failure.kind) {
    case Failure::Kind::kStopped:
      return stop_outcome();
    case Failure::Kind::kFenced:
      outcome.lost = true;
      break;
    case Failure::Kind::kReleased:
      finish.event = core::Event::kRelease;
      finish.retry_after_ms = failure.retry_after_ms;
      break;
    case Failure::Kind::kPermanent:
      finish.event = core::Event::kFail;
      break;
    case Failure::Kind::kTransient:
      finish.event = core::Event::kRetryLater;
      finish.retry_after_ms = failure.retry_after_ms;
      finish.failure_message += task_.attempt < task_.max_attempts
                                    ? " It is tried again automatically."
                                    : " All attempts are used up.";
      break;
  }
  if (!outcome.lost) log_failure(finish);
  return outcome;
}

// One line for the operator, with the words that the user reads.
void ExportJob::log_failure(const store::Finish& finish) const {
  base::log(base::LogLevel::kWarn, "export.failed",
            {{"taskId", task_.execution.id},
             {"dispatchVersion", task_.execution.version},
             {"type", task_.type},
             {"tenantId", task_.tenant_id},
             {"attempt", static_cast<std::int64_t>(task_.attempt)},
             {"outcome", core::to_string(finish.event)},
             {"failureClass", core::to_string(finish.failure_class)},
             {"message", finish.failure_message}});
}

Outcome ExportJob::stop_outcome() const {
  Outcome outcome;
  switch (guard_.reason()) {
    case StopReason::kLostLease:
      outcome.lost = true;
      break;
    case StopReason::kOverdue:
      outcome.finish.event = core::Event::kOverdue;
      outcome.finish.failure_class = FailureClass::kTimeout;
      outcome.finish.failure_message = core::overdue_message(task_.max_duration_ms);
      break;
    case StopReason::kCancelled:
      outcome.finish.event = core::Event::kStopObserved;
      break;
    case StopReason::kShutdown:
    case StopReason::kNone:  // a call was ended without a reason of ours: give the execution back
      outcome.finish.event = core::Event::kRelease;
      break;
  }
  return outcome;
}

void ExportJob::warn_about_cells() const {
  const xlsx::WriterReport& report = receipt_.report;
  if (report.cells_cut + report.invalid_as_text + report.text_repaired + report.undeclared_keys +
          receipt_.pages_repaired ==
      0) {
    return;
  }
  base::log(base::LogLevel::kWarn, "export.cells_adjusted",
            {{"taskId", task_.execution.id},
             {"dispatchVersion", task_.execution.version},
             {"type", task_.type},
             {"cellsCut", report.cells_cut},
             {"invalidAsText", report.invalid_as_text},
             {"textRepaired", report.text_repaired},
             {"pagesRepaired", receipt_.pages_repaired},
             {"undeclaredKeys", report.undeclared_keys}});
}

xlsx::WriterOptions ExportJob::writer_options() const {
  xlsx::WriterOptions options;
  options.sheet_name = title();
  options.title = title();
  options.created_unix_seconds = services_.clock.wall_ms() / 1'000;
  options.formula_guard = settings_.formula_guard;
  options.cell_refs = settings_.cell_refs;
  options.compression = settings_.compression;
  options.shared_string_budget_bytes = settings_.shared_string_budget_bytes;
  options.max_file_bytes = static_cast<std::uint64_t>(type_->max_file_bytes);
  options.max_rows = type_->max_rows;
  options.zone_offset_seconds = [zone = settings_.time_zone](std::int64_t utc_seconds) {
    return zone.offset_seconds(utc_seconds * 1'000);
  };
  return options;
}

std::string ExportJob::title() const {
  const std::string& wanted = settings_.english_titles ? type_->title_en : type_->title_zh;
  const std::string& other = settings_.english_titles ? type_->title_zh : type_->title_en;
  if (!wanted.empty()) return wanted;
  return other.empty() ? type_->key : other;
}

}  // namespace waybill::exporting
