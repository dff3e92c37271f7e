-- Claiming, renewing, polling.

-- The next commands of one (level, tenant), with what their executions need to know. Stale ones
-- come too, to be removed.
-- name: claim_pick
-- in:   lane text, level int, tenant text, any int, known text, n int
-- out:  id int, version int, now int, task_version int, status int, due_at int, kind int
-- out:  type text, app text, requester text, trace text, job int, attempts int, max_attempts int
-- out:  duration int, requested_at int
SELECT o.task_id, o.dispatch_version, (SELECT waybill_now()), t.dispatch_version, t.status,
  t.due_at, t.kind, t.type, t.app_code, t.requested_by, t.trace_id, t.job_id, t.attempt_count,
  t.max_attempts, t.max_duration_ms, t.requested_at
FROM outbox o @index(outbox_due) LEFT JOIN task t ON t.id = o.task_id
WHERE o.status = 0 AND o.lane = :lane AND o.priority = :level AND o.tenant_id = :tenant
  AND o.due_at <= waybill_now()
  AND (:any = 1 OR t.id IS NULL OR t.type IN @list(known text))
ORDER BY o.due_at, o.task_id LIMIT :n @lock_skip;

-- The same over commands that a broker holds since a while.
-- name: claim_pick_sent
-- in:   lane text, level int, tenant text, any int, known text, n int, older int
-- out:  id int, version int, now int, task_version int, status int, due_at int, kind int
-- out:  type text, app text, requester text, trace text, job int, attempts int, max_attempts int
-- out:  duration int, requested_at int
SELECT o.task_id, o.dispatch_version, (SELECT waybill_now()), t.dispatch_version, t.status,
  t.due_at, t.kind, t.type, t.app_code, t.requested_by, t.trace_id, t.job_id, t.attempt_count,
  t.max_attempts, t.max_duration_ms, t.requested_at
FROM outbox o @index(outbox_sent) LEFT JOIN task t ON t.id = o.task_id
WHERE o.status = 2 AND o.lane = :lane AND o.priority = :level AND o.tenant_id = :tenant
  AND o.sent_at <= waybill_now() - :older
  AND (:any = 1 OR t.id IS NULL OR t.type IN @list(known text))
ORDER BY o.sent_at, o.task_id LIMIT :n @lock_skip;

-- name: claim_lock
-- in:   ids text
-- out:  id int, version int, now int, task_version int, status int, due_at int, kind int
-- out:  type text, app text, requester text, trace text, job int, attempts int, max_attempts int
-- out:  duration int, requested_at int, lane text, level int, tenant text, command int
SELECT t.id, t.dispatch_version, (SELECT waybill_now()), t.dispatch_version, t.status, t.due_at,
  t.kind, t.type, t.app_code, t.requested_by, t.trace_id, t.job_id, t.attempt_count,
  t.max_attempts, t.max_duration_ms, t.requested_at, t.lane, t.priority, t.tenant_id,
       CASE WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.task_id = t.id
         AND o.dispatch_version = t.dispatch_version) THEN 1 ELSE 0 END
FROM task t WHERE t.id IN @list(ids int) ORDER BY t.id @lock;

-- Rows are addressed by id; `status + 0` keeps every planner away from the indexes on status.
-- name: claim_take
-- in:   ids text, version int, owner text, now int, lease int
UPDATE task SET status = 1, attempt_count = attempt_count + 1, started_at = :now,
  lease_owner = :owner, lease_until = :now + :lease,
  execution_deadline_at = :now + max_duration_ms, failure_class = NULL, failure_message = NULL
WHERE id IN @list(ids int) AND dispatch_version = :version AND (status + 0) = 0;

-- A quarantined command stays as evidence.
-- name: command_delete
-- in:   ids text, version int
DELETE FROM outbox WHERE task_id IN @list(ids int) AND dispatch_version = :version
  AND (status + 0) <> 3;

-- name: job_start
-- in:   ids text
UPDATE batch_job SET status = 1, started_at = waybill_now() WHERE id IN @list(ids int)
  AND (status + 0) = 0;

-- Extends only before the deadline, and says so.
-- name: renew_lock
-- in:   ids text, owner text
-- out:  id int, version int, cancel int, overdue int, now int
SELECT id, dispatch_version, cancel_requested, CASE
  WHEN execution_deadline_at <= waybill_now() THEN 1 ELSE 0 END, waybill_now()
FROM task WHERE id IN @list(ids int) AND (status + 0) = 1 AND lease_owner = :owner
  ORDER BY id @lock;

-- name: renew_extend
-- in:   ids text, until int
UPDATE task SET lease_until = :until WHERE id IN @list(ids int) AND (status + 0) = 1;

-- name: running_of_owner
-- in:   owner text
-- out:  id int, version int
SELECT id, dispatch_version FROM task @index(task_running)
WHERE status = 1 AND lease_until > waybill_now() AND lease_owner = :owner;
