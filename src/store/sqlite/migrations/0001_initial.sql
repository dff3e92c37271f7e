-- Times are milliseconds since 1970-01-01T00:00:00Z, made by waybill_now(). Codes: task.kind 1
-- EXPORT 2 ACTION;
-- task.status 0 PENDING 1 RUNNING 2 SUCCEEDED 3 FAILED 4 CANCELLED 5 EXPIRED 6 BLOCKED;
-- outbox.status 0 PENDING 1 CLAIMED 2 SENT 3 QUARANTINED; batch_job.status 0 PENDING 1 RUNNING 2
-- COMPLETED 3 FAILED
-- 4 CANCELLED.

CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  kind SMALLINT NOT NULL,
  type VARCHAR(64) NOT NULL,
  lane VARCHAR(32) NOT NULL,
  priority SMALLINT NOT NULL,
  tenant_id VARCHAR(64) NOT NULL,
  app_code VARCHAR(32) NOT NULL,
  requested_by VARCHAR(64) NOT NULL,
  status SMALLINT NOT NULL,
  dispatch_version INT NOT NULL DEFAULT 1,
  attempt_count INT NOT NULL DEFAULT 0,
  max_attempts INT NOT NULL DEFAULT 3,
  max_duration_ms BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  lease_owner VARCHAR(64),
  lease_until BIGINT,
  execution_deadline_at BIGINT,
  cancel_requested SMALLINT NOT NULL DEFAULT 0,
  failure_class VARCHAR(16),
  failure_message VARCHAR(1000),
  serial_key VARCHAR(64),
  serial_seq BIGINT,
  job_id BIGINT,
  trace_id VARCHAR(64) NOT NULL DEFAULT '',
  requested_at BIGINT NOT NULL,
  started_at BIGINT,
  completed_at BIGINT
);
-- Finished tasks are in none of these. A partial index serves a statement that repeats its very
-- condition, so there is one per state. Every claim and every end evaluates all these conditions:
-- the part that is false for most tasks comes first, and none is an IN list, which SQLite would
-- build anew for every row. The row id ends every entry: task_pending and task_blocked_walk walk by
-- it.
CREATE INDEX task_pending ON task(status) WHERE status = 0;
CREATE INDEX task_running ON task(lease_until) WHERE status = 1;
CREATE INDEX task_blocked_walk ON task(status) WHERE status = 6;
CREATE INDEX task_blocked ON task(tenant_id, lane, serial_key, serial_seq)
  WHERE serial_key IS NOT NULL AND status = 6;
CREATE UNIQUE INDEX task_serial ON task(tenant_id, lane, serial_key)
  WHERE serial_key IS NOT NULL AND status < 2;
CREATE INDEX task_cancel ON task(cancel_requested) WHERE cancel_requested = 1;
-- Limits count active exports; lists show exports; a million items of jobs are in neither.
CREATE INDEX task_active_user ON task(tenant_id, app_code, requested_by)
  WHERE kind = 1 AND status < 2;
CREATE INDEX task_active_type ON task(type, tenant_id) WHERE kind = 1 AND status < 2;
CREATE INDEX task_user ON task(tenant_id, app_code, requested_by) WHERE kind = 1;
CREATE INDEX task_app ON task(tenant_id, app_code) WHERE kind = 1;
CREATE INDEX task_job ON task(job_id) WHERE job_id IS NOT NULL;

CREATE TABLE export_task (
  task_id INTEGER PRIMARY KEY REFERENCES task(id) ON DELETE CASCADE,
  task_name VARCHAR(200) NOT NULL DEFAULT '',
  format VARCHAR(16) NOT NULL,
  parameters_json TEXT NOT NULL,
  parameters_hash VARCHAR(64) NOT NULL,
  dispatch_version INT NOT NULL DEFAULT 1,
  processed_rows BIGINT NOT NULL DEFAULT 0,
  total_rows BIGINT,
  object_key VARCHAR(512),
  storage_id VARCHAR(64),
  file_name VARCHAR(255),
  content_type VARCHAR(128),
  size_bytes BIGINT NOT NULL DEFAULT 0,
  sha256 VARCHAR(64),
  receipt_json TEXT,
  expires_at BIGINT
);
CREATE INDEX export_object ON export_task(object_key) WHERE object_key IS NOT NULL;
CREATE INDEX export_file ON export_task(storage_id) WHERE object_key IS NOT NULL
  AND expires_at IS NOT NULL;

CREATE TABLE attempt (
  task_id INTEGER NOT NULL,
  dispatch_version INT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT NOT NULL,
  instance VARCHAR(64) NOT NULL DEFAULT '',
  outcome VARCHAR(32) NOT NULL,
  failure_message VARCHAR(1000) NOT NULL DEFAULT '',
  PRIMARY KEY (task_id, dispatch_version)
) WITHOUT ROWID;

CREATE TABLE batch_job (
  id INTEGER PRIMARY KEY,
  action VARCHAR(64) NOT NULL,
  status SMALLINT NOT NULL DEFAULT 0,
  total BIGINT NOT NULL DEFAULT 0,
  success_count BIGINT NOT NULL DEFAULT 0,
  fail_count BIGINT NOT NULL DEFAULT 0,
  cancelled_count BIGINT NOT NULL DEFAULT 0,
  payload_json TEXT,
  tenant_id VARCHAR(64) NOT NULL,
  app_code VARCHAR(32) NOT NULL,
  requested_by VARCHAR(64) NOT NULL,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT
);
CREATE INDEX job_open ON batch_job(status) WHERE status < 2;
CREATE INDEX job_user ON batch_job(tenant_id, app_code, requested_by);

CREATE TABLE batch_item (
  task_id INTEGER PRIMARY KEY REFERENCES task(id) ON DELETE CASCADE,
  job_id BIGINT NOT NULL,
  target_id VARCHAR(128) NOT NULL,
  target_no VARCHAR(128),
  action VARCHAR(64) NOT NULL,
  row_number INT,
  payload_json TEXT,
  message_id VARCHAR(255) NOT NULL,
  result_message VARCHAR(1000),
  result_url VARCHAR(2048),
  UNIQUE (job_id, target_id, action)
);

CREATE TABLE outbox (
  task_id INTEGER NOT NULL,
  dispatch_version INT NOT NULL,
  event_id VARCHAR(36) NOT NULL,
  kind SMALLINT NOT NULL,
  type VARCHAR(64) NOT NULL,
  lane VARCHAR(32) NOT NULL,
  priority SMALLINT NOT NULL,
  tenant_id VARCHAR(64) NOT NULL,
  status SMALLINT NOT NULL DEFAULT 0,
  attempt_count INT NOT NULL DEFAULT 0,
  fail_count INT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL,
  next_send_at BIGINT,
  lease_owner VARCHAR(64),
  lease_until BIGINT,
  sent_at BIGINT,
  last_error VARCHAR(500),
  PRIMARY KEY (task_id, dispatch_version)
) WITHOUT ROWID;
-- The primary key ends every index entry. Only outbox_due is touched in an embedded life.
CREATE INDEX outbox_due ON outbox(lane, priority, tenant_id, due_at) WHERE status = 0;
CREATE INDEX outbox_sent ON outbox(lane, priority, tenant_id, sent_at) WHERE status = 2;
CREATE INDEX outbox_sent_walk ON outbox(task_id) WHERE status = 2;
CREATE INDEX outbox_held ON outbox(task_id) WHERE status = 1;
CREATE INDEX outbox_failing ON outbox(lane, priority) WHERE fail_count > 0 AND status = 0;

CREATE TABLE create_guard (scope VARCHAR(80) PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE serial_slot (
  tenant_id VARCHAR(64) NOT NULL,
  lane VARCHAR(32) NOT NULL,
  skey VARCHAR(64) NOT NULL,
  holder_task_id BIGINT,
  next_seq BIGINT NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, lane, skey)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  tenant_id VARCHAR(64) NOT NULL,
  requested_by VARCHAR(64) NOT NULL,
  key VARCHAR(128) NOT NULL,
  request_hash VARCHAR(64) NOT NULL,
  resource_id BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, requested_by, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency(expires_at);

CREATE TABLE lane_state (lane VARCHAR(32) PRIMARY KEY,
  paused SMALLINT NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE rate_state (
  service VARCHAR(64) PRIMARY KEY,
  tokens BIGINT NOT NULL DEFAULT 0,
  refilled_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sweep (k SMALLINT PRIMARY KEY, last_ok_at BIGINT NOT NULL,
  grace_until BIGINT NOT NULL) WITHOUT ROWID;
CREATE TABLE instance (
  name VARCHAR(64) PRIMARY KEY,
  started_at BIGINT NOT NULL,
  renewed_at BIGINT NOT NULL,
  version VARCHAR(32) NOT NULL DEFAULT '',
  storage_id VARCHAR(64) NOT NULL DEFAULT '',
  roles_json VARCHAR(500) NOT NULL DEFAULT '[]',
  workers_json VARCHAR(2000) NOT NULL DEFAULT '{}',
  schema_version INT NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE TABLE id_block (name VARCHAR(32) PRIMARY KEY, next BIGINT NOT NULL) WITHOUT ROWID;
CREATE TABLE database_identity (k SMALLINT PRIMARY KEY, id VARCHAR(36) NOT NULL) WITHOUT ROWID;

INSERT INTO id_block(name, next) VALUES ('task', 1);
INSERT INTO sweep(k, last_ok_at, grace_until) VALUES (1, waybill_now(), 0);
INSERT INTO create_guard(scope) VALUES ('GLOBAL_CREATE');
INSERT INTO create_guard(scope)
  WITH RECURSIVE shard(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM shard
    WHERE n < 255) SELECT 'U:' || n FROM shard;

CREATE VIEW task_readable AS SELECT id,
  CASE kind WHEN 1 THEN 'EXPORT' WHEN 2 THEN 'ACTION' ELSE CAST(kind AS TEXT) END AS kind, type,
    lane, 'P' || priority AS priority,
  tenant_id, app_code, requested_by,
  CASE status WHEN 0 THEN 'PENDING' WHEN 1 THEN 'RUNNING' WHEN 2 THEN 'SUCCEEDED' WHEN 3
    THEN 'FAILED' WHEN 4 THEN 'CANCELLED'
    WHEN 5 THEN 'EXPIRED' WHEN 6 THEN 'BLOCKED' ELSE CAST(status AS TEXT) END AS status,
  dispatch_version, attempt_count, max_attempts, max_duration_ms, datetime(due_at / 1000,
    'unixepoch') AS due_at, lease_owner,
  datetime(lease_until / 1000, 'unixepoch') AS lease_until, datetime(execution_deadline_at / 1000,
    'unixepoch') AS execution_deadline_at,
  cancel_requested, failure_class, failure_message, serial_key, serial_seq, job_id, trace_id,
  datetime(requested_at / 1000, 'unixepoch') AS requested_at, datetime(started_at / 1000,
    'unixepoch') AS started_at,
  datetime(completed_at / 1000, 'unixepoch') AS completed_at
FROM task;

CREATE VIEW outbox_readable AS SELECT task_id, dispatch_version, event_id,
  CASE kind WHEN 1 THEN 'EXPORT' WHEN 2 THEN 'ACTION' ELSE CAST(kind AS TEXT) END AS kind, type,
    lane, 'P' || priority AS priority, tenant_id,
  CASE status WHEN 0 THEN 'PENDING' WHEN 1 THEN 'CLAIMED' WHEN 2 THEN 'SENT' WHEN 3
    THEN 'QUARANTINED' ELSE CAST(status AS TEXT) END AS status,
  attempt_count, fail_count, datetime(due_at / 1000, 'unixepoch') AS due_at,
    datetime(next_send_at / 1000, 'unixepoch') AS next_send_at,
  lease_owner, datetime(lease_until / 1000, 'unixepoch') AS lease_until, datetime(sent_at / 1000,
    'unixepoch') AS sent_at, last_error
FROM outbox;

CREATE VIEW batch_job_readable AS SELECT id, action,
  CASE status WHEN 0 THEN 'PENDING' WHEN 1 THEN 'RUNNING' WHEN 2 THEN 'COMPLETED' WHEN 3
    THEN 'FAILED' WHEN 4 THEN 'CANCELLED'
    ELSE CAST(status AS TEXT) END AS status,
  total, success_count, fail_count, cancelled_count, tenant_id, app_code, requested_by,
  datetime(created_at / 1000, 'unixepoch') AS created_at, datetime(started_at / 1000,
    'unixepoch') AS started_at,
  datetime(finished_at / 1000, 'unixepoch') AS finished_at
FROM batch_job;
