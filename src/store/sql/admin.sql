-- Schema, guards, lanes, instances, figures.

-- name: guard_insert
-- in:   scopes text
INSERT INTO create_guard(scope) SELECT r.scope FROM @rows(scopes: scope text) r WHERE 1 = 1
  ON CONFLICT (scope) DO NOTHING;

-- What a migration makes once and somebody may have deleted.
-- name: sweep_restore
INSERT INTO sweep(k, last_ok_at, grace_until) VALUES (1, waybill_now(), 0)
  ON CONFLICT (k) DO NOTHING;

-- name: ids_restore
INSERT INTO id_block(name, next) SELECT 'task', COALESCE(MAX(id), 0) + 1 FROM task WHERE 1 = 1
  ON CONFLICT (name) DO NOTHING;

-- name: single_rows
-- out:  sweeps int, blocks int
SELECT (SELECT COUNT(*) FROM sweep WHERE k = 1),
  (SELECT COUNT(*) FROM id_block WHERE name = 'task');

-- name: guards_read
-- out:  scope text
SELECT scope FROM create_guard ORDER BY scope;

-- name: identity_insert
-- in:   id text
INSERT INTO database_identity(k, id) VALUES (1, :id) ON CONFLICT (k) DO NOTHING;

-- name: identity_read
-- out:  id text
SELECT id FROM database_identity WHERE k = 1;

-- name: lane_pause
-- in:   lane text, paused int
INSERT INTO lane_state(lane, paused) VALUES (:lane, :paused)
  ON CONFLICT (lane) DO UPDATE SET paused = excluded.paused;

-- name: instance_put
-- in:   name text, version text, storage text, roles text, workers text, schema int
INSERT INTO instance(name, started_at, renewed_at, version, storage_id, roles_json, workers_json,
  schema_version)
VALUES (:name, waybill_now(), waybill_now(), :version, :storage, :roles, :workers, :schema)
ON CONFLICT (name) DO UPDATE SET started_at = excluded.started_at,
  renewed_at = excluded.renewed_at, version = excluded.version, storage_id = excluded.storage_id,
  roles_json = excluded.roles_json, workers_json = excluded.workers_json,
  schema_version = excluded.schema_version;

-- name: instance_renew
-- in:   name text
UPDATE instance SET renewed_at = waybill_now() WHERE name = :name;

-- name: instance_remove
-- in:   name text
DELETE FROM instance WHERE name = :name;

-- name: instances_read
-- in:   alive_for int
-- out:  name text, started_at int, renewed_at int, version text, storage text, roles text
-- out:  workers text, schema int, alive int
SELECT name, started_at, renewed_at, version, storage_id, roles_json, workers_json, schema_version,
  CASE WHEN renewed_at > waybill_now() - :alive_for THEN 1 ELSE 0 END
FROM instance ORDER BY name;

-- name: figures
-- out:  pending int, oldest_due int, max_fail int, running int, now int
SELECT (SELECT COUNT(*) FROM outbox WHERE status = 0), (SELECT MIN(due_at) FROM outbox
  WHERE status = 0 AND due_at <= waybill_now()), (SELECT MAX(fail_count) FROM outbox
    WHERE fail_count > 0 AND status = 0), (SELECT COUNT(*)
    FROM task WHERE status = 1), waybill_now();

-- name: has_tasks
-- out:  id int
SELECT id FROM task LIMIT 1;

-- Benchmarks.
-- name: lane_walk
-- in:   lane text, after int, n int
-- out:  id int, mine int
SELECT id, CASE WHEN lane = :lane THEN 1 ELSE 0 END FROM task WHERE id > :after
  ORDER BY id LIMIT :n;

-- name: finished_insert
-- in:   lane text, first int, n int
INSERT INTO task(id, kind, type, lane, priority, tenant_id, app_code, requested_by, status,
  dispatch_version, attempt_count, max_attempts, max_duration_ms, due_at, lease_owner,
  requested_at, started_at, completed_at, execution_deadline_at)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :n)
SELECT :first + i, 2, 'bench-finished', :lane, 2, 'bench', 'BENCH', 'bench', 2, 1, 1, 3, 1800000,
  waybill_now(), 'bench', waybill_now(), waybill_now(), waybill_now(), waybill_now() FROM n;
