#ifndef WAYBILL_STORE_HISTORY_H_
#define WAYBILL_STORE_HISTORY_H_

#include <span>

#include "store/session.h"
#include "store/types.h"

namespace waybill::store {

// Deletes tasks with every row that belongs to them. Used inside a writing transaction.
void delete_history(Session& session, std::span<const TaskId> ids);

}  // namespace waybill::store

#endif  // WAYBILL_STORE_HISTORY_H_
