-- The reconciler's branches and retention. Walks go by key and end; none reads more rows than it
-- may change.

-- name: sweep_lock
-- out:  last_ok_at int, grace_until int, now int
SELECT last_ok_at, grace_until, waybill_now() FROM sweep WHERE k = 1 @lock;

-- name: sweep_write
-- in:   now int, grace_until int
UPDATE sweep SET last_ok_at = :now, grace_until = :grace_until WHERE k = 1;

-- 1a
-- name: missing_walk
-- in:   after int, due_for int, n int
-- out:  id int, command int
SELECT t.id, CASE WHEN EXISTS (SELECT 1 FROM outbox o WHERE o.task_id = t.id
  AND o.dispatch_version = t.dispatch_version) THEN 1 ELSE 0 END
FROM task t @index(task_pending) WHERE t.status = 0 AND t.id > :after
  AND t.due_at <= waybill_now() - :due_for
ORDER BY t.id LIMIT :n;

-- 1b
-- name: sent_walk
-- in:   after int, n int
-- out:  id int, version int, sends int, sent_at int, status int, task_version int, due_at int
-- out:  paused int, now int
SELECT o.task_id, o.dispatch_version, o.attempt_count, o.sent_at, t.status, t.dispatch_version,
  t.due_at, (SELECT l.paused FROM lane_state l WHERE l.lane = o.lane), (SELECT waybill_now())
FROM outbox o @index(outbox_sent_walk) LEFT JOIN task t ON t.id = o.task_id
WHERE o.status = 2 AND o.task_id > :after ORDER BY o.task_id LIMIT :n @lock_skip;

-- name: command_resend
-- in:   commands text
UPDATE outbox SET status = 0, sent_at = NULL, next_send_at = NULL FROM @rows(commands: id int,
  version int) r
WHERE outbox.task_id = r.id AND outbox.dispatch_version = r.version AND (outbox.status + 0) = 2;

-- name: command_remove
-- in:   commands text
-- The statuses that may go: a quarantined command is evidence.
DELETE FROM outbox WHERE (task_id, dispatch_version) IN (SELECT r.id, r.version
  FROM @rows(commands: id int, version int) r)
  AND (status + 0) <> 3;

-- 2
-- name: expired_leases
-- in:   n int
-- out:  id int
SELECT id FROM task @index(task_running) WHERE status = 1 AND lease_until <= waybill_now()
  ORDER BY lease_until LIMIT :n;

-- name: all_running
-- in:   n int
-- out:  id int
SELECT id FROM task @index(task_running) WHERE status = 1 AND lease_until > 0
  ORDER BY lease_until LIMIT :n;

-- name: instances_alive
-- in:   alive_for int
-- out:  name text
SELECT name FROM instance WHERE renewed_at > waybill_now() - :alive_for;

-- 3
-- name: held_walk
-- in:   after int, n int
-- out:  id int, version int, expired int
SELECT task_id, dispatch_version, CASE WHEN lease_until <= waybill_now() THEN 1 ELSE 0 END
  FROM outbox @index(outbox_held)
WHERE status = 1 AND task_id > :after ORDER BY task_id LIMIT :n @lock_skip;

-- name: command_release
-- in:   commands text
UPDATE outbox SET status = 0, lease_owner = NULL, lease_until = NULL, next_send_at = NULL
FROM @rows(commands: id int, version int) r
WHERE outbox.task_id = r.id AND outbox.dispatch_version = r.version AND (outbox.status + 0) = 1;

-- 5
-- name: blocked_walk
-- in:   after int, n int
-- out:  id int, tenant text, lane text, skey text, held int
SELECT t.id, t.tenant_id, t.lane, t.serial_key,
  CASE WHEN EXISTS (SELECT 1 FROM serial_slot s CROSS JOIN task h
    WHERE s.tenant_id = t.tenant_id AND s.lane = t.lane
    AND s.skey = t.serial_key AND h.id = s.holder_task_id AND (h.status + 0) IN (0, 1)) THEN 1
      ELSE 0 END
FROM task t @index(task_blocked_walk) WHERE t.status = 6 AND t.id > :after ORDER BY t.id LIMIT :n;

-- name: jobs_all_ended
-- out:  id int
SELECT id FROM batch_job @index(job_open) WHERE status < 2 AND total > 0
  AND success_count + fail_count + cancelled_count >= total;

-- 4
-- name: expired_files
-- in:   storage text, grace int, after int, n int
-- out:  id int, okey text
SELECT e.task_id, e.object_key FROM export_task e @index(export_file) CROSS JOIN task t
WHERE e.storage_id = :storage AND e.object_key IS NOT NULL AND e.expires_at IS NOT NULL
  AND e.task_id > :after
  AND e.expires_at <= waybill_now() - :grace AND t.id = e.task_id AND (t.status + 0) = 2
ORDER BY e.task_id LIMIT :n;

-- A key counts as recorded while its task may still need the object.
-- name: recorded_keys
-- in:   keys text
-- out:  okey text
SELECT e.object_key FROM export_task e @index(export_object) CROSS JOIN task t
WHERE e.object_key IS NOT NULL AND e.object_key IN @list(keys text) AND t.id = e.task_id
  AND (t.status + 0) IN (0, 1, 2, 6);

-- name: old_sent
-- in:   older int, n int
-- out:  id int, version int
SELECT task_id, dispatch_version FROM outbox @index(outbox_sent_walk) WHERE status = 2
  AND task_id > 0 AND sent_at <= waybill_now() - :older
ORDER BY task_id LIMIT :n @lock_skip;

-- name: old_idempotency
-- in:   n int
-- out:  tenant text, requester text, ikey text
SELECT tenant_id, requested_by, key FROM idempotency @index(idempotency_expiry)
  WHERE expires_at <= waybill_now() ORDER BY expires_at LIMIT :n @lock_skip;

-- name: idempotency_remove
-- in:   keys text
DELETE FROM idempotency WHERE (tenant_id, requested_by, key) IN
  (SELECT r.tenant, r.requester, r.ikey FROM @rows(keys: tenant text, requester text, ikey text) r);

-- Ids grow with time, so the oldest tasks come first; `old` = requested before the limit, `ended`
-- = may go. An export that
-- still owns a file stays until the file is gone, an item until its job may go.
-- name: history_walk
-- in:   after int, older int, n int
-- out:  id int, old int, ended int
SELECT t.id, CASE WHEN t.requested_at <= waybill_now() - :older THEN 1 ELSE 0 END,
  CASE WHEN t.status IN (2, 3, 4, 5) AND t.completed_at <= waybill_now() - :older
    AND NOT (t.kind = 1 AND t.status = 2 AND EXISTS (SELECT 1 FROM export_task e
      WHERE e.task_id = t.id AND e.object_key IS NOT NULL))
    AND (t.job_id IS NULL OR NOT EXISTS (SELECT 1 FROM batch_job b WHERE b.id = t.job_id
      AND (b.finished_at IS NULL OR b.finished_at > waybill_now() - :older)))
  THEN 1 ELSE 0 END
FROM task t WHERE t.id > :after ORDER BY t.id LIMIT :n;

-- name: history_delete_attempts
-- in:   ids text
DELETE FROM attempt WHERE task_id IN @list(ids int);

-- name: history_delete_commands
-- in:   ids text
DELETE FROM outbox WHERE task_id IN @list(ids int);

-- name: history_delete_exports
-- in:   ids text
DELETE FROM export_task WHERE task_id IN @list(ids int);

-- name: history_delete_items
-- in:   ids text
DELETE FROM batch_item WHERE task_id IN @list(ids int);

-- name: history_delete_tasks
-- in:   ids text
DELETE FROM task WHERE id IN @list(ids int);

-- name: history_delete_jobs
-- in:   older int
DELETE FROM batch_job WHERE status IN (2, 3, 4) AND finished_at <= waybill_now() - :older
  AND NOT EXISTS (SELECT 1 FROM task t WHERE t.job_id = batch_job.id);
