-- Differs by the loose scan: a row comparison reaches through an index here only if its right side
-- has no declared type
-- (hence || '' and + 0), and the indexes are named.
--
-- Everything that a process asks once a second, in one statement. what: 0 the clock, 1 the oldest
-- due command of a (lane,
-- level, tenant), 2 the same of sent ones, 3 a paused lane, 4 a cancel request of an own
-- execution, 5 the next command
-- that is not due yet. Heads come from a loose scan: one index probe per (lane, level, tenant),
-- however long the backlog.
-- name: poll
-- in:   owner text, any int, known text
-- out:  what int, lane text, level int, tenant text, number int, version int
WITH RECURSIVE
head(lane, priority, tenant_id, due_at) AS (
  SELECT * FROM (SELECT lane, priority, tenant_id, due_at FROM outbox @index(outbox_due)
    WHERE status = 0 AND lane >= '' AND (:any = 1 OR type IN @list(known text)) ORDER BY lane,
      priority, tenant_id, due_at LIMIT 1) first_head
  UNION ALL
  SELECT o.lane, o.priority, o.tenant_id, o.due_at FROM head h CROSS JOIN outbox o
  WHERE (o.task_id, o.dispatch_version) = (SELECT n.task_id, n.dispatch_version
    FROM outbox n @index(outbox_due)
    WHERE n.status = 0 AND (n.lane, n.priority, n.tenant_id) > (h.lane || '', h.priority + 0,
      h.tenant_id || '')
      AND (:any = 1 OR n.type IN @list(known text)) ORDER BY n.lane, n.priority, n.tenant_id,
        n.due_at LIMIT 1)),
sent(lane, priority, tenant_id, sent_at) AS (
  SELECT * FROM (SELECT lane, priority, tenant_id, sent_at FROM outbox @index(outbox_sent)
    WHERE status = 2 AND lane >= '' AND (:any = 1 OR type IN @list(known text)) ORDER BY lane,
      priority, tenant_id, sent_at LIMIT 1) first_sent
  UNION ALL
  SELECT o.lane, o.priority, o.tenant_id, o.sent_at FROM sent h CROSS JOIN outbox o
  WHERE (o.task_id, o.dispatch_version) = (SELECT n.task_id, n.dispatch_version
    FROM outbox n @index(outbox_sent)
    WHERE n.status = 2 AND (n.lane, n.priority, n.tenant_id) > (h.lane || '', h.priority + 0,
      h.tenant_id || '')
      AND (:any = 1 OR n.type IN @list(known text)) ORDER BY n.lane, n.priority, n.tenant_id,
        n.sent_at LIMIT 1))
SELECT 0, '', 0, '', waybill_now(), 0
UNION ALL SELECT 1, lane, priority, tenant_id, due_at, 0 FROM head
  WHERE due_at <= (SELECT waybill_now())
UNION ALL SELECT 2, lane, priority, tenant_id, sent_at, 0 FROM sent
UNION ALL SELECT 3, lane, 0, '', 0, 0 FROM lane_state WHERE paused = 1
UNION ALL SELECT 4, '', 0, '', id, dispatch_version FROM task @index(task_cancel)
  WHERE cancel_requested = 1 AND (status + 0) = 1 AND lease_owner = :owner
UNION ALL SELECT 5, h.lane, 0, '', (SELECT MIN(n.due_at) FROM outbox n @index(outbox_due)
  WHERE n.status = 0 AND n.lane = h.lane
  AND n.priority = h.priority AND n.tenant_id = h.tenant_id AND n.due_at > (SELECT waybill_now())),
    0 FROM head h;
