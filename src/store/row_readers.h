// Rows of `task` and `export_task` as the seam's structs. Used inside src/store only.

#ifndef WAYBILL_STORE_ROW_READERS_H_
#define WAYBILL_STORE_ROW_READERS_H_

#include "store/session.h"
#include "store/types.h"

namespace waybill::store {

inline constexpr std::size_t kTaskColumns = 26;  // of export_find and task_read, in this order

TaskRow read_task_row(const Rows& rows);
ExportRow read_export_row(const Rows& rows);

}  // namespace waybill::store

#endif  // WAYBILL_STORE_ROW_READERS_H_
