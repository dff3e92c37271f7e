-- Serial keys: the slot row is the mutex of a key.

-- name: serial_keys
-- in:   ids text
-- out:  tenant text, lane text, skey text
SELECT DISTINCT tenant_id, lane, serial_key FROM task WHERE id IN @list(ids int)
  AND serial_key IS NOT NULL;

-- name: slot_make
-- in:   keys text
INSERT INTO serial_slot(tenant_id, lane, skey)
SELECT r.tenant, r.lane, r.skey FROM @rows(keys: tenant text, lane text, skey text) r WHERE 1 = 1
ON CONFLICT (tenant_id, lane, skey) DO NOTHING;

-- The slots in key order, each with its holder's state and the oldest task that waits for it.
-- name: slot_lock
-- in:   keys text
-- out:  tenant text, lane text, skey text, holder int, next_seq int, holder_status int
SELECT s.tenant_id, s.lane, s.skey, s.holder_task_id, s.next_seq, (SELECT h.status
  FROM task h WHERE h.id = s.holder_task_id)
FROM @rows(keys: tenant text, lane text, skey text) r CROSS JOIN serial_slot s
WHERE s.tenant_id = r.tenant AND s.lane = r.lane AND s.skey = r.skey @lock;

-- name: slot_waiting
-- in:   keys text
-- out:  tenant text, lane text, skey text, holder int, holder_status int, waiting int
SELECT s.tenant_id, s.lane, s.skey, s.holder_task_id, (SELECT h.status FROM task h
  WHERE h.id = s.holder_task_id), (SELECT t.id FROM task t @index(task_blocked)
    WHERE t.tenant_id = s.tenant_id
    AND t.lane = s.lane AND t.serial_key = s.skey
     AND t.serial_key IS NOT NULL AND t.status = 6
   ORDER BY t.serial_seq LIMIT 1)
FROM @rows(keys: tenant text, lane text, skey text) r CROSS JOIN serial_slot s
WHERE s.tenant_id = r.tenant AND s.lane = r.lane AND s.skey = r.skey;

-- name: slot_number
-- in:   keys text
UPDATE serial_slot SET next_seq = r.next_seq FROM @rows(keys: tenant text, lane text, skey text,
  next_seq int) r
WHERE serial_slot.tenant_id = r.tenant AND serial_slot.lane = r.lane AND serial_slot.skey = r.skey;

-- name: slot_hold
-- in:   keys text
UPDATE serial_slot SET holder_task_id = r.holder FROM @rows(keys: tenant text, lane text,
  skey text, holder int) r
WHERE serial_slot.tenant_id = r.tenant AND serial_slot.lane = r.lane AND serial_slot.skey = r.skey;
