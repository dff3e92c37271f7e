-- Reading for people and executors.

-- name: export_find
-- in:   ids text
-- out:  id int, kind int, type text, lane text, level int, tenant text, app text, requester text
-- out:  status int, version int, attempts int, max_attempts int, duration int, due_at int
-- out:  owner text, lease_until int, deadline int, cancel int, fclass text, fmessage text
-- out:  skey text, job int, trace text, requested_at int, started_at int, completed_at int
-- out:  title text, format text, parameters text, pversion int, done int, total int, okey text
-- out:  storage text, fname text, ctype text, digest text, receipt text, size int, expires_at int
SELECT t.id, t.kind, t.type, t.lane, t.priority, t.tenant_id, t.app_code, t.requested_by, t.status,
  t.dispatch_version, t.attempt_count, t.max_attempts, t.max_duration_ms, t.due_at, t.lease_owner,
  t.lease_until, t.execution_deadline_at, t.cancel_requested, t.failure_class, t.failure_message,
  t.serial_key, t.job_id, t.trace_id, t.requested_at, t.started_at, t.completed_at, e.task_name,
  e.format, e.parameters_json, e.dispatch_version, e.processed_rows, e.total_rows, e.object_key,
  e.storage_id, e.file_name, e.content_type, e.sha256, e.receipt_json, e.size_bytes, e.expires_at
FROM task t CROSS JOIN export_task e WHERE t.id IN @list(ids int) AND e.task_id = t.id
  ORDER BY t.id;

-- name: task_read
-- in:   id int
-- out:  id int, kind int, type text, lane text, level int, tenant text, app text, requester text
-- out:  status int, version int, attempts int, max_attempts int, duration int, due_at int
-- out:  owner text, lease_until int, deadline int, cancel int, fclass text, fmessage text
-- out:  skey text, job int, trace text, requested_at int, started_at int, completed_at int
SELECT id, kind, type, lane, priority, tenant_id, app_code, requested_by, status, dispatch_version,
  attempt_count, max_attempts, max_duration_ms, due_at, lease_owner, lease_until,
  execution_deadline_at, cancel_requested, failure_class, failure_message, serial_key, job_id,
  trace_id, requested_at, started_at, completed_at
FROM task WHERE id = :id @lock;

-- Newest first; the index on a user ends in the id, so a page reads a page, and one with filters
-- no further than `floor`. `all` = all users of tenant and app.
-- name: export_list_user
-- in:   tenant text, app text, requester text, before int, floor int, status int, type text
-- in:   pattern text, since int, upto int, n int
-- out:  id int
SELECT t.id FROM task t @index(task_user) CROSS JOIN export_task e
WHERE t.kind = 1 AND t.tenant_id = :tenant AND t.app_code = :app
  AND t.requested_by = :requester AND t.id < :before AND t.id >= :floor
  AND (:status < 0 OR (t.status + 0) = :status) AND (:type = '' OR t.type = :type)
  AND t.requested_at >= :since AND t.requested_at <= :upto
  AND e.task_id = t.id AND (:pattern = '' OR e.task_name LIKE :pattern ESCAPE '!')
ORDER BY t.id DESC LIMIT :n;

-- name: export_list_all
-- in:   tenant text, app text, before int, floor int, status int, type text, pattern text
-- in:   since int, upto int, n int
-- out:  id int
SELECT t.id FROM task t @index(task_app) CROSS JOIN export_task e
WHERE t.kind = 1 AND t.tenant_id = :tenant AND t.app_code = :app AND t.id < :before
  AND t.id >= :floor
  AND (:status < 0 OR (t.status + 0) = :status) AND (:type = '' OR t.type = :type)
  AND t.requested_at >= :since AND t.requested_at <= :upto
  AND e.task_id = t.id AND (:pattern = '' OR e.task_name LIKE :pattern ESCAPE '!')
ORDER BY t.id DESC LIMIT :n;

-- The oldest of the `skip` + 1 tasks below `before`; no row when there are fewer.
-- name: export_floor_user
-- in:   tenant text, app text, requester text, before int, skip int
-- out:  id int
SELECT t.id FROM task t @index(task_user)
WHERE t.kind = 1 AND t.tenant_id = :tenant AND t.app_code = :app
  AND t.requested_by = :requester AND t.id < :before
ORDER BY t.id DESC LIMIT 1 OFFSET :skip;

-- name: export_floor_all
-- in:   tenant text, app text, before int, skip int
-- out:  id int
SELECT t.id FROM task t @index(task_app)
WHERE t.kind = 1 AND t.tenant_id = :tenant AND t.app_code = :app AND t.id < :before
ORDER BY t.id DESC LIMIT 1 OFFSET :skip;

-- name: attempts_of
-- in:   id int
-- out:  version int, started_at int, ended_at int, instance text, outcome text, message text
SELECT dispatch_version, started_at, ended_at, instance, outcome, failure_message
  FROM attempt WHERE task_id = :id
ORDER BY dispatch_version;

-- name: waiting_facts
-- in:   id int, ahead int
-- out:  now int, paused int, command int, fails int, error text, next_send int, lane_running int
-- out:  holder int, ahead int
SELECT waybill_now(), (SELECT l.paused FROM lane_state l WHERE l.lane = t.lane), o.status,
  o.fail_count, o.last_error, o.next_send_at, (SELECT COUNT(*) FROM (SELECT 1
  FROM task r @index(task_running) WHERE r.status = 1
    AND r.lease_until > 0 AND r.lane = t.lane LIMIT :ahead) running), (SELECT s.holder_task_id
      FROM serial_slot s WHERE s.tenant_id = t.tenant_id
    AND s.lane = t.lane AND s.skey = t.serial_key), (SELECT COUNT(*) FROM (
     SELECT 1 FROM outbox a @index(outbox_due) WHERE a.status = 0 AND a.lane = o.lane
       AND a.priority < o.priority AND a.due_at <= waybill_now() LIMIT :ahead) urgent)
  + (SELECT COUNT(*) FROM (
     SELECT 1 FROM outbox a @index(outbox_due) WHERE a.status = 0 AND a.lane = o.lane
       AND a.priority = o.priority
       AND (a.due_at < o.due_at OR (a.due_at = o.due_at
         AND a.task_id < o.task_id)) LIMIT :ahead) older)
FROM task t LEFT JOIN outbox o ON o.task_id = t.id AND o.dispatch_version = t.dispatch_version
WHERE t.id = :id;
