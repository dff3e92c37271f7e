-- Differs by the loose scan. A row comparison would do it in one step, but SQLite then reads every
-- command of the (lane, level, tenant) it comes from; a MIN over one column stops at its first row.
-- `+ 0` and `|| ''` take the declared types off columns of the step before, which would keep the
-- planner from comparing through the index.
--
-- Everything that a process asks once a second, in one statement. what: 0 the clock, 1 the oldest
-- due command of a (lane, level, tenant), 2 the same of sent ones, 3 a paused lane, 4 a cancel
-- request of an own execution, 5 the next command that is not due yet. Heads come from a loose
-- scan: a few index probes per lane, level and tenant, however long the backlog.
-- name: poll
-- in:   owner text, any int, known text
-- out:  what int, lane text, level int, tenant text, number int, version int
WITH RECURSIVE
due_lane(lane) AS (
  SELECT MIN(lane) FROM outbox @index(outbox_due)
  WHERE status = 0 AND lane >= '' AND (:any = 1 OR type IN @list(known text))
  UNION ALL
  SELECT (SELECT MIN(n.lane) FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND n.lane > p.lane || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM due_lane p WHERE p.lane IS NOT NULL),
due_level(lane, priority) AS (
  SELECT p.lane, (SELECT MIN(n.priority) FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND n.lane = p.lane || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM due_lane p WHERE p.lane IS NOT NULL
  UNION ALL
  SELECT p.lane, (SELECT MIN(n.priority) FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND n.lane = p.lane || '' AND n.priority > p.priority + 0
      AND (:any = 1 OR n.type IN @list(known text)))
  FROM due_level p WHERE p.priority IS NOT NULL),
due_tenant(lane, priority, tenant_id) AS (
  SELECT p.lane, p.priority, (SELECT MIN(n.tenant_id) FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND n.lane = p.lane || '' AND n.priority = p.priority + 0
      AND (:any = 1 OR n.type IN @list(known text)))
  FROM due_level p WHERE p.priority IS NOT NULL
  UNION ALL
  SELECT p.lane, p.priority, (SELECT MIN(n.tenant_id) FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND n.lane = p.lane || '' AND n.priority = p.priority + 0
      AND n.tenant_id > p.tenant_id || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM due_tenant p WHERE p.tenant_id IS NOT NULL),
head(lane, priority, tenant_id, due_at) AS MATERIALIZED (
  SELECT p.lane, p.priority, p.tenant_id, (SELECT MIN(n.due_at) FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND n.lane = p.lane || '' AND n.priority = p.priority + 0
      AND n.tenant_id = p.tenant_id || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM due_tenant p WHERE p.tenant_id IS NOT NULL),
sent_lane(lane) AS (
  SELECT MIN(lane) FROM outbox @index(outbox_sent)
  WHERE status = 2 AND lane >= '' AND (:any = 1 OR type IN @list(known text))
  UNION ALL
  SELECT (SELECT MIN(n.lane) FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND n.lane > p.lane || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM sent_lane p WHERE p.lane IS NOT NULL),
sent_level(lane, priority) AS (
  SELECT p.lane, (SELECT MIN(n.priority) FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND n.lane = p.lane || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM sent_lane p WHERE p.lane IS NOT NULL
  UNION ALL
  SELECT p.lane, (SELECT MIN(n.priority) FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND n.lane = p.lane || '' AND n.priority > p.priority + 0
      AND (:any = 1 OR n.type IN @list(known text)))
  FROM sent_level p WHERE p.priority IS NOT NULL),
sent_tenant(lane, priority, tenant_id) AS (
  SELECT p.lane, p.priority, (SELECT MIN(n.tenant_id) FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND n.lane = p.lane || '' AND n.priority = p.priority + 0
      AND (:any = 1 OR n.type IN @list(known text)))
  FROM sent_level p WHERE p.priority IS NOT NULL
  UNION ALL
  SELECT p.lane, p.priority, (SELECT MIN(n.tenant_id) FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND n.lane = p.lane || '' AND n.priority = p.priority + 0
      AND n.tenant_id > p.tenant_id || '' AND (:any = 1 OR n.type IN @list(known text)))
  FROM sent_tenant p WHERE p.tenant_id IS NOT NULL)
SELECT 0, '', 0, '', waybill_now(), 0
UNION ALL SELECT 1, lane, priority, tenant_id, due_at, 0 FROM head
  WHERE due_at <= (SELECT waybill_now())
UNION ALL SELECT 2, p.lane, p.priority, p.tenant_id,
  (SELECT MIN(n.sent_at) FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND n.lane = p.lane || '' AND n.priority = p.priority + 0
      AND n.tenant_id = p.tenant_id || '' AND (:any = 1 OR n.type IN @list(known text))), 0
  FROM sent_tenant p WHERE p.tenant_id IS NOT NULL
UNION ALL SELECT 3, lane, 0, '', 0, 0 FROM lane_state WHERE paused = 1
UNION ALL SELECT 4, '', 0, '', id, dispatch_version FROM task @index(task_cancel)
  WHERE cancel_requested = 1 AND (status + 0) = 1 AND lease_owner = :owner
UNION ALL SELECT 5, h.lane, 0, '', (SELECT MIN(n.due_at) FROM outbox n @index(outbox_due)
  WHERE n.status = 0 AND n.lane = h.lane || ''
  AND n.priority = h.priority + 0 AND n.tenant_id = h.tenant_id || ''
  AND n.due_at > (SELECT waybill_now())), 0 FROM head h;
