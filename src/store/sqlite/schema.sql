-- The schema table differs in its types and in how its absence is found on every database.

-- name: schema_table
CREATE TABLE IF NOT EXISTS schema_migration (version INTEGER PRIMARY KEY,
  name VARCHAR(64) NOT NULL, applied_at BIGINT NOT NULL);

-- name: schema_present
-- out:  n int
SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migration';

-- name: schema_version
-- out:  version int
SELECT COALESCE(MAX(version), 0) FROM schema_migration;

-- name: schema_record
-- in:   version int, name text
INSERT INTO schema_migration(version, name, applied_at) VALUES (:version, :name, waybill_now());
