// An export task as its users see it: the JSON of detail, list and events. Internal to api/.

#ifndef WAYBILL_API_TASK_VIEW_H_
#define WAYBILL_API_TASK_VIEW_H_

#include <optional>
#include <span>
#include <string>

#include "api/errors.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/time_zone.h"
#include "core/waiting_for.h"
#include "registry/registry.h"
#include "store/types.h"

namespace waybill::api {

// For whom and when.
struct ViewStyle {
  Language language = Language::kEnglish;
  const base::TimeZone& zone;
  const registry::Snapshot& registry;  // for titles
  base::Millis now = 0;                // for rates and what has expired: shown, never decided on
};

// What a detail has beyond the task's own rows.
struct TaskExtras {
  std::span<const store::AttemptRow> attempts;
  std::optional<core::WaitingFor> waiting_for;
  bool deduplicated = false;
};

// One JSON object. `extras` null = a list's item: without attempts, waitingFor and receipt.
void write_task(base::JsonWriter& json, const ViewStyle& style, const store::ExportRow& row,
                const TaskExtras* extras);

// The facts of a row and, for one that waits, of its lane and command.
std::optional<core::WaitingFor> waiting_for_row(const store::ExportRow& row,
                                                const store::WaitingFacts& facts,
                                                const registry::Snapshot& registry,
                                                const base::TimeZone& zone);

// Whether the place in the queue has to be asked for.
bool needs_waiting_facts(core::TaskStatus status);

}  // namespace waybill::api

#endif  // WAYBILL_API_TASK_VIEW_H_
