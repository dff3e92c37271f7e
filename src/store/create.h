// What the two ways of creating share. Used inside src/store only.

#ifndef WAYBILL_STORE_CREATE_H_
#define WAYBILL_STORE_CREATE_H_

#include <functional>
#include <span>

#include "base/result.h"
#include "store/id_source.h"
#include "store/transition.h"

namespace waybill::store {

SerialKey slot_of(const NewTask& task);

// Inserts the tasks and makes the commands of those that are due; serial ones are inserted BLOCKED
// and promoted.
void insert_new_tasks(Session& session, const Transitions& transitions,
                      std::span<const NewTask* const> tasks, std::span<const TaskId> ids,
                      CommandHints& hints);

// After a lost answer: true when all of these ids exist and are ours.
bool all_present(Session& session, std::span<const NewTask* const> tasks,
                 std::span<const TaskId> ids);

// Calls insert(ids, replay) with `n` fresh ids. After a lost answer it is called again with the
// same ids and replay = true; when an id was used already, with other ids beyond all used ones.
base::Status with_new_ids(
    IdSource& source, std::size_t n,
    const std::function<base::Status(std::span<const TaskId>, bool replay)>& insert);

}  // namespace waybill::store

#endif  // WAYBILL_STORE_CREATE_H_
