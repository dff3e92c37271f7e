-- Sending commands and burying damaged ones.

-- Per lane and level: commands in the broker's hands, those in send back-off counted too.
-- name: sent_counts
-- out:  lane text, level int, sent int
SELECT lane, priority, SUM(n) FROM (
  SELECT lane, priority, COUNT(*) AS n FROM outbox WHERE status = 2 GROUP BY lane, priority
  UNION ALL SELECT lane, priority, COUNT(*) AS n FROM outbox
    WHERE fail_count > 0 AND status = 0 GROUP BY lane, priority) c
GROUP BY lane, priority;

-- name: command_pick
-- in:   lane text, level int, tenant text, n int
-- out:  id int, version int, event_id text, kind int, type text, attempts int, fails int
-- out:  due_at int, trace text, now int
SELECT o.task_id, o.dispatch_version, o.event_id, o.kind, o.type, o.attempt_count, o.fail_count,
  o.due_at, (SELECT t.trace_id FROM task t WHERE t.id = o.task_id), (SELECT waybill_now())
FROM outbox o @index(outbox_due)
WHERE o.status = 0 AND o.lane = :lane AND o.priority = :level AND o.tenant_id = :tenant
  AND o.due_at <= waybill_now()
  AND (o.next_send_at IS NULL OR o.next_send_at <= waybill_now())
ORDER BY o.due_at, o.task_id LIMIT :n @lock_skip;

-- name: command_lease
-- in:   owner text, until int, commands text
UPDATE outbox SET status = 1, lease_owner = :owner, lease_until = :until,
  attempt_count = attempt_count + 1, next_send_at = NULL
FROM @rows(commands: id int, version int) r
WHERE outbox.task_id = r.id AND outbox.dispatch_version = r.version AND (outbox.status + 0) = 0;

-- name: command_sent
-- in:   owner text, commands text
UPDATE outbox SET status = 2, sent_at = waybill_now(), lease_owner = NULL, lease_until = NULL,
  next_send_at = NULL
FROM @rows(commands: id int, version int, attempt int) r
WHERE outbox.task_id = r.id AND outbox.dispatch_version = r.version AND (outbox.status + 0) = 1
  AND outbox.lease_owner = :owner AND outbox.attempt_count = r.attempt;

-- due_at stays: the order among waiting commands does not change by a failed send.
-- name: command_failed
-- in:   owner text, commands text
UPDATE outbox SET status = 0, next_send_at = waybill_now() + r.retry, fail_count = fail_count + 1,
  last_error = r.error, lease_owner = NULL, lease_until = NULL
FROM @rows(commands: id int, version int, attempt int, retry int, error text) r
WHERE outbox.task_id = r.id AND outbox.dispatch_version = r.version AND (outbox.status + 0) = 1
  AND outbox.lease_owner = :owner AND outbox.attempt_count = r.attempt;

-- name: command_lock
-- in:   id int, version int
-- out:  event_id text, status int
SELECT event_id, status FROM outbox WHERE task_id = :id AND dispatch_version = :version @lock;

-- name: command_quarantine
-- in:   id int, version int, reason text
UPDATE outbox SET status = 3, last_error = :reason, lease_owner = NULL, lease_until = NULL,
  next_send_at = NULL
WHERE task_id = :id AND dispatch_version = :version AND (status + 0) <> 3;
