-- Ends of executions and every other change of a task's state.

-- What has to be known before locks are taken: slots come first in the lock order, and serial keys
-- never change.
-- name: finish_extras
-- in:   ids text
-- out:  id int, tenant text, lane text, skey text, job int
SELECT id, tenant_id, lane, serial_key, job_id FROM task
WHERE id IN @list(ids int) AND (serial_key IS NOT NULL OR job_id IS NOT NULL);

-- The common case in one statement: a success of this owner, in time, not cancelled.
-- name: finish_succeed
-- in:   ids text, version int, owner text
UPDATE task SET status = 2, completed_at = waybill_now(), lease_until = NULL
WHERE id IN @list(ids int) AND dispatch_version = :version AND (status + 0) = 1
  AND lease_owner = :owner
  AND execution_deadline_at > waybill_now() AND (kind = 2 OR cancel_requested = 0);

-- The result row follows the conditional write of the task, under its lock.
-- name: export_result
-- in:   results text
UPDATE export_task SET dispatch_version = r.version, processed_rows = r.total,
  total_rows = r.total, object_key = r.okey, storage_id = r.storage, file_name = r.fname,
  content_type = r.ctype, size_bytes = r.size, sha256 = r.digest, receipt_json = r.receipt,
  expires_at = waybill_now() + r.keep
FROM @rows(results: id int, version int, total int, okey text, storage text, fname text,
  ctype text, size int, digest text, receipt text, keep int) r
WHERE export_task.task_id = r.id;

-- name: task_lock
-- in:   ids text
-- out:  id int, kind int, type text, lane text, level int, tenant text, app text, requester text
-- out:  status int, version int, attempts int, max_attempts int, duration int, due_at int
-- out:  owner text, lease_until int, deadline int, cancel int, skey text, seq int, job int
-- out:  started_at int, holder int, now int, fmessage text, completed_at int
SELECT t.id, t.kind, t.type, t.lane, t.priority, t.tenant_id, t.app_code, t.requested_by, t.status,
  t.dispatch_version, t.attempt_count, t.max_attempts, t.max_duration_ms, t.due_at, t.lease_owner,
  t.lease_until, t.execution_deadline_at, t.cancel_requested, t.serial_key, t.serial_seq, t.job_id,
  t.started_at, (SELECT s.holder_task_id FROM serial_slot s WHERE s.tenant_id = t.tenant_id
         AND s.lane = t.lane AND s.skey = t.serial_key), (SELECT waybill_now()), t.failure_message,
           t.completed_at
FROM task t WHERE t.id IN @list(ids int) ORDER BY t.id @lock;

-- Values are computed from the locked rows by core::decide; here they are only written.
-- name: task_apply
-- in:   changes text
UPDATE task SET status = r.to_status, dispatch_version = r.to_version, attempt_count = r.attempts,
  due_at = r.due, lease_owner = r.owner, lease_until = r.until, execution_deadline_at = r.deadline,
  cancel_requested = r.cancel, failure_class = CASE WHEN r.failure = 0 THEN failure_class
  ELSE r.fclass END, failure_message = CASE WHEN r.failure = 0 THEN failure_message
  ELSE r.fmessage END, serial_seq = r.seq, started_at = r.started, completed_at = r.completed
FROM @rows(changes: id int, version int, status int, to_status int, to_version int, attempts int,
  due int, owner text, until int, deadline int, cancel int, failure int, fclass text,
  fmessage text, seq int, started int, completed int) r
WHERE task.id = r.id AND task.dispatch_version = r.version AND (task.status + 0) = r.status;

-- name: attempt_insert
-- in:   attempts text
INSERT INTO attempt(task_id, dispatch_version, started_at, ended_at, instance, outcome,
  failure_message)
SELECT r.id, r.version, r.started, r.ended, r.instance, r.outcome, r.message
FROM @rows(attempts: id int, version int, started int, ended int, instance text, outcome text,
  message text) r WHERE 1 = 1
ON CONFLICT (task_id, dispatch_version) DO NOTHING;

-- name: attempt_outcomes
-- in:   ids text
-- out:  id int, version int, instance text, outcome text
SELECT task_id, dispatch_version, instance, outcome FROM attempt WHERE task_id IN @list(ids int);

-- name: export_objects
-- in:   ids text
-- out:  id int, okey text, storage text
SELECT task_id, object_key, storage_id FROM export_task WHERE task_id IN @list(ids int)
  AND object_key IS NOT NULL;

-- Progress belongs to the new version from here on: a zombie's changes nothing.
-- name: export_reset
-- in:   ids text
UPDATE export_task SET dispatch_version = (SELECT t.dispatch_version FROM task t
  WHERE t.id = export_task.task_id), processed_rows = 0, total_rows = NULL, object_key = NULL,
    storage_id = NULL, file_name = NULL, content_type = NULL, size_bytes = 0, sha256 = NULL,
    receipt_json = NULL, expires_at = NULL
WHERE task_id IN @list(ids int);

-- name: export_forget_object
-- in:   ids text
UPDATE export_task SET object_key = NULL WHERE task_id IN @list(ids int);

-- name: job_count
-- in:   jobs text
UPDATE batch_job SET success_count = success_count + r.ok, fail_count = fail_count + r.bad,
  cancelled_count = cancelled_count + r.gone
FROM @rows(jobs: id int, ok int, bad int, gone int) r WHERE batch_job.id = r.id;

-- All cancelled -> CANCELLED; none succeeded and one failed -> FAILED; otherwise COMPLETED.
-- name: job_close
-- in:   ids text
UPDATE batch_job SET finished_at = waybill_now(), status = CASE WHEN cancelled_count = total
  THEN 4 WHEN success_count = 0 AND fail_count > 0
    THEN 3 ELSE 2 END
WHERE id IN @list(ids int) AND (status + 0) IN (0, 1)
  AND success_count + fail_count + cancelled_count >= total;

-- name: job_reopen
-- in:   ids text
UPDATE batch_job SET status = 1, finished_at = NULL
WHERE id IN @list(ids int) AND (status + 0) IN (2, 3, 4)
  AND success_count + fail_count + cancelled_count < total;

-- name: object_record
-- in:   id int, version int, okey text, storage text
UPDATE export_task SET object_key = :okey, storage_id = :storage, dispatch_version = :version,
  processed_rows = 0, total_rows = NULL
WHERE task_id = :id;

-- Fenced by columns of the very row: a condition through the task would read an old
-- snapshot after a lock wait.
-- name: progress_save
-- in:   items text
UPDATE export_task SET processed_rows = r.done, total_rows = r.total
FROM @rows(items: id int, version int, done int, total int) r
WHERE export_task.task_id = r.id AND export_task.dispatch_version = r.version;
