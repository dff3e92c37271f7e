-- Claiming, renewing, polling.

-- The next commands of one (level, tenant), with what their executions need to know. Stale ones come too, to be removed.
-- name: claim_pick
-- in:   lane text, level int, tenant text, any int, known text, n int
-- out:  id int, version int, now int, task_version int, status int, due_at int, kind int, type text, app text, requester text, trace text, job int, attempts int, max_attempts int, duration int, requested_at int
SELECT o.task_id, o.dispatch_version, (SELECT waybill_now()), t.dispatch_version, t.status, t.due_at, t.kind, t.type, t.app_code,
       t.requested_by, t.trace_id, t.job_id, t.attempt_count, t.max_attempts, t.max_duration_ms, t.requested_at
FROM outbox o LEFT JOIN task t ON t.id = o.task_id
WHERE o.status = 0 AND o.lane = :lane AND o.priority = :level AND o.tenant_id = :tenant AND o.due_at <= waybill_now()
  AND (:any = 1 OR o.type IN @list(known text))
ORDER BY o.due_at, o.task_id LIMIT :n @lock_skip;

-- The same over commands that a broker holds since a while.
-- name: claim_pick_sent
-- in:   lane text, level int, tenant text, any int, known text, n int, older int
-- out:  id int, version int, now int, task_version int, status int, due_at int, kind int, type text, app text, requester text, trace text, job int, attempts int, max_attempts int, duration int, requested_at int
SELECT o.task_id, o.dispatch_version, (SELECT waybill_now()), t.dispatch_version, t.status, t.due_at, t.kind, t.type, t.app_code,
       t.requested_by, t.trace_id, t.job_id, t.attempt_count, t.max_attempts, t.max_duration_ms, t.requested_at
FROM outbox o LEFT JOIN task t ON t.id = o.task_id
WHERE o.status = 2 AND o.lane = :lane AND o.priority = :level AND o.tenant_id = :tenant AND o.sent_at <= waybill_now() - :older
  AND (:any = 1 OR o.type IN @list(known text))
ORDER BY o.sent_at, o.task_id LIMIT :n @lock_skip;

-- name: claim_lock
-- in:   ids text
-- out:  id int, version int, now int, task_version int, status int, due_at int, kind int, type text, app text, requester text, trace text, job int, attempts int, max_attempts int, duration int, requested_at int, lane text, level int, tenant text, command int
SELECT t.id, t.dispatch_version, (SELECT waybill_now()), t.dispatch_version, t.status, t.due_at, t.kind, t.type, t.app_code,
       t.requested_by, t.trace_id, t.job_id, t.attempt_count, t.max_attempts, t.max_duration_ms, t.requested_at,
       t.lane, t.priority, t.tenant_id,
       CASE WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.task_id = t.id AND o.dispatch_version = t.dispatch_version) THEN 1 ELSE 0 END
FROM task t WHERE t.id IN @list(ids int) ORDER BY t.id @lock;

-- Rows are addressed by id; `status + 0` keeps every planner away from the indexes on status (09 F18).
-- name: claim_take
-- in:   ids text, version int, owner text, now int, lease int
UPDATE task SET status = 1, attempt_count = attempt_count + 1, started_at = :now, lease_owner = :owner,
  lease_until = :now + :lease, execution_deadline_at = :now + max_duration_ms, failure_class = NULL, failure_message = NULL
WHERE id IN @list(ids int) AND dispatch_version = :version AND (status + 0) = 0;

-- A quarantined command stays as evidence.
-- name: command_delete
-- in:   ids text, version int
DELETE FROM outbox WHERE task_id IN @list(ids int) AND dispatch_version = :version AND (status + 0) <> 3;

-- name: job_start
-- in:   ids text
UPDATE batch_job SET status = 1, started_at = waybill_now() WHERE id IN @list(ids int) AND (status + 0) = 0;

-- Extends only before the deadline, and says so (09 F6).
-- name: renew_lock
-- in:   ids text, owner text
-- out:  id int, version int, cancel int, overdue int, now int
SELECT id, dispatch_version, cancel_requested, CASE WHEN execution_deadline_at <= waybill_now() THEN 1 ELSE 0 END, waybill_now()
FROM task WHERE id IN @list(ids int) AND (status + 0) = 1 AND lease_owner = :owner ORDER BY id @lock;

-- name: renew_extend
-- in:   ids text, until int
UPDATE task SET lease_until = :until WHERE id IN @list(ids int) AND (status + 0) = 1;

-- name: running_of_owner
-- in:   owner text
-- out:  id int, version int
SELECT id, dispatch_version FROM task WHERE status = 1 AND lease_until > waybill_now() AND lease_owner = :owner;

-- Everything that a process asks once a second, in one statement. what: 0 the clock, 1 the oldest due command of a (lane,
-- level, tenant), 2 the same of sent ones, 3 a paused lane, 4 a cancel request of an own execution, 5 the next command
-- that is not due yet. Heads come from a loose scan: one index probe per (lane, level, tenant), however long the backlog.
-- name: poll
-- in:   owner text, any int, known text
-- out:  what int, lane text, level int, tenant text, number int, version int
WITH RECURSIVE
head(lane, priority, tenant_id, due_at) AS (
  SELECT * FROM (SELECT lane, priority, tenant_id, due_at FROM outbox
    WHERE status = 0 AND (:any = 1 OR type IN @list(known text)) ORDER BY lane, priority, tenant_id, due_at LIMIT 1) first_head
  UNION ALL
  SELECT o.lane, o.priority, o.tenant_id, o.due_at FROM head h CROSS JOIN outbox o
  WHERE (o.task_id, o.dispatch_version) = (SELECT n.task_id, n.dispatch_version FROM outbox n
    WHERE n.status = 0 AND (n.lane, n.priority, n.tenant_id) > (h.lane, h.priority, h.tenant_id)
      AND (:any = 1 OR n.type IN @list(known text)) ORDER BY n.lane, n.priority, n.tenant_id, n.due_at LIMIT 1)),
sent(lane, priority, tenant_id, sent_at) AS (
  SELECT * FROM (SELECT lane, priority, tenant_id, sent_at FROM outbox
    WHERE status = 2 AND (:any = 1 OR type IN @list(known text)) ORDER BY lane, priority, tenant_id, sent_at LIMIT 1) first_sent
  UNION ALL
  SELECT o.lane, o.priority, o.tenant_id, o.sent_at FROM sent h CROSS JOIN outbox o
  WHERE (o.task_id, o.dispatch_version) = (SELECT n.task_id, n.dispatch_version FROM outbox n
    WHERE n.status = 2 AND (n.lane, n.priority, n.tenant_id) > (h.lane, h.priority, h.tenant_id)
      AND (:any = 1 OR n.type IN @list(known text)) ORDER BY n.lane, n.priority, n.tenant_id, n.sent_at LIMIT 1))
SELECT 0, '', 0, '', waybill_now(), 0
UNION ALL SELECT 1, lane, priority, tenant_id, due_at, 0 FROM head WHERE due_at <= (SELECT waybill_now())
UNION ALL SELECT 2, lane, priority, tenant_id, sent_at, 0 FROM sent
UNION ALL SELECT 3, lane, 0, '', 0, 0 FROM lane_state WHERE paused = 1
UNION ALL SELECT 4, '', 0, '', id, dispatch_version FROM task WHERE status = 1 AND cancel_requested = 1 AND lease_owner = :owner
UNION ALL SELECT 5, h.lane, 0, '', (SELECT MIN(n.due_at) FROM outbox n WHERE n.status = 0 AND n.lane = h.lane
  AND n.priority = h.priority AND n.tenant_id = h.tenant_id AND n.due_at > (SELECT waybill_now())), 0 FROM head h;
