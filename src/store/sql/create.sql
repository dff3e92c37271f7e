-- Making tasks and their commands (01 "Creating").

-- name: clock_read
-- out:  now int
SELECT waybill_now();

-- name: id_block_read
-- out:  next int
SELECT next FROM id_block WHERE name = 'task' @lock;

-- name: id_block_move
-- in:   next int
UPDATE id_block SET next = :next WHERE name = 'task';

-- name: id_highest
-- out:  id int
SELECT MAX(id) FROM task;

-- Tasks that differ in id and trace only, all due now: nothing is parsed per column.
-- name: task_insert_same
-- in:   kind int, type text, lane text, level int, tenant text, app text, requester text
-- in:   attempts int, duration int, job int, now int, traces text
INSERT INTO task(id, kind, type, lane, priority, tenant_id, app_code, requested_by, status,
  max_attempts, max_duration_ms, due_at, job_id, trace_id, requested_at)
SELECT p.id, :kind, :type, :lane, :level, :tenant, :app, :requester, 0, :attempts, :duration, :now,
  :job, p.text, :now
FROM @pairs(traces) p;

-- name: task_insert_rows
-- in:   now int, tasks text
INSERT INTO task(id, kind, type, lane, priority, tenant_id, app_code, requested_by, status,
  max_attempts, max_duration_ms, due_at, job_id, trace_id, requested_at, serial_key, serial_seq)
SELECT r.id, r.kind, r.type, r.lane, r.level, r.tenant, r.app, r.requester, r.status, r.attempts,
  r.duration, :now, r.job, r.trace, :now, r.skey, r.seq
FROM @rows(tasks: id int, kind int, type text, lane text, level int, tenant text, app text,
  requester text, status int, attempts int, duration int, job int, trace text, skey text,
  seq int) r;

-- The one place that makes commands: for tasks that are PENDING, at their version, due when they
-- are due. A command that
-- exists already is what was wanted.
-- name: command_insert
-- in:   events text
INSERT INTO outbox(task_id, dispatch_version, event_id, kind, type, lane, priority, tenant_id,
  status, due_at)
SELECT t.id, t.dispatch_version, p.text, t.kind, t.type, t.lane, t.priority, t.tenant_id, 0,
  t.due_at
FROM @pairs(events) p CROSS JOIN task t WHERE t.id = p.id AND (t.status + 0) = 0
ON CONFLICT (task_id, dispatch_version) DO NOTHING;

-- name: export_insert
-- in:   exports text
INSERT INTO export_task(task_id, task_name, format, parameters_json, parameters_hash)
SELECT r.id, r.title, r.format, r.parameters, r.phash
FROM @rows(exports: id int, title text, format text, parameters text, phash text) r;

-- After a lost answer: which of these ids exist, and whether they are ours.
-- name: tasks_present
-- in:   ids text
-- out:  id int, trace text, requester text
SELECT id, trace_id, requested_by FROM task WHERE id IN @list(ids int) @lock;

-- name: guard_lock
-- in:   scopes text
-- out:  scope text, now int
SELECT scope, waybill_now() FROM create_guard WHERE scope IN @list(scopes text)
  ORDER BY scope @lock;

-- Active exports of some users: they count against the limits, and young ones answer an equal
-- request.
-- name: active_of_users
-- in:   users text
-- out:  id int, type text, tenant text, app text, requester text, requested_at int, phash text
SELECT t.id, t.type, t.tenant_id, t.app_code, t.requested_by, t.requested_at, e.parameters_hash
FROM @rows(users: tenant text, app text, requester text) r
CROSS JOIN task t @index(task_active_user) CROSS JOIN export_task e
WHERE t.kind = 1 AND t.status < 2 AND t.tenant_id = r.tenant AND t.app_code = r.app
  AND t.requested_by = r.requester
  AND e.task_id = t.id;

-- Active exports per type and tenant.
-- name: active_of_types
-- in:   types text
-- out:  type text, tenant text, active int
SELECT t.type, t.tenant_id, COUNT(*) FROM task t @index(task_active_type)
WHERE t.kind = 1 AND t.status < 2 AND t.type IN @list(types text) GROUP BY t.type,
  t.tenant_id;

-- `kept` = the task that the key answers with still has its row.
-- name: idempotency_find
-- in:   keys text
-- out:  tenant text, requester text, ikey text, hash text, resource int, expires_at int, kept int
SELECT i.tenant_id, i.requested_by, i.key, i.request_hash, i.resource_id, i.expires_at,
  CASE WHEN EXISTS (SELECT 1 FROM task t WHERE t.id = i.resource_id) THEN 1 ELSE 0 END
FROM @rows(keys: tenant text, requester text, ikey text) r CROSS JOIN idempotency i
WHERE i.tenant_id = r.tenant AND i.requested_by = r.requester AND i.key = r.ikey @lock;

-- name: idempotency_put
-- in:   keys text
INSERT INTO idempotency(tenant_id, requested_by, key, request_hash, resource_id, expires_at)
SELECT r.tenant, r.requester, r.ikey, r.hash, r.resource, r.expires_at
FROM @rows(keys: tenant text, requester text, ikey text, hash text, resource int,
  expires_at int) r WHERE 1 = 1
ON CONFLICT (tenant_id, requested_by, key) DO UPDATE
SET request_hash = excluded.request_hash, resource_id = excluded.resource_id,
  expires_at = excluded.expires_at;
