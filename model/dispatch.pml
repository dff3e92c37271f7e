/* The dispatch protocol: how a task finds a worker and comes to one end, whatever is lost, repeated,
 * late, frozen or killed on the way. docs/PROOF.md maps every part to the code, says what is proven and
 * what is left out; model/run checks it.
 *
 * Every `atomic` is one database transaction or one message. Between two of them anybody may act, so a
 * process that is frozen is one that takes no step, for as long as you like.
 *
 * Two forms of one model:
 *   adversary (default)  time-outs fire at any moment, leases expire while their holder runs, copies of
 *                        a message stay around for ever, instances crash again and again: no bound on
 *                        faults. Checks the assertions.
 *   LIVE                 at most FAULTS faults, and leases last while they are renewed. Checks that
 *                        every task ends (I1), under weak fairness.
 * BREAK_... removes one rule; each must then be caught (model/run).
 */

/* ---- Bounds ------------------------------------------------------------------------------------ */
#ifndef TASKS
#define TASKS 1
#endif
#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2 /* executions of one life of a task */
#endif
#ifndef RETRIES
#define RETRIES 1 /* manual retries, in all */
#endif
#ifndef RELEASES
#define RELEASES 1 /* executions given back by their owner, in all: they cost no attempt */
#endif
#ifndef FAULTS
#define FAULTS 2 /* with LIVE only */
#endif
/* A task needs no more versions than this: I3 and the count of attempts bound them. */
#define VERSIONS (1 + (MAX_ATTEMPTS - 1) * (1 + RETRIES) + RETRIES + RELEASES)

/* ---- Words ------------------------------------------------------------------------------------- */
#define PENDING 0 /* task.status */
#define RUNNING 1
#define SUCCEEDED 2
#define FAILED 3
#define CANCELLED 4

#define C_NONE 0 /* outbox.status; NONE: there is no such row */
#define C_PENDING 1
#define C_CLAIMED 2
#define C_SENT 3
#define C_QUARANTINED 4
#define C_GIVEN_UP 5 /* only where a rule is broken: I10 has no such state */

#define NOBODY 0 /* task.lease_owner; instances are 1 and 2 */
#define GONE 3   /* the name of a process that has ended; names are never used twice */

#define IDLE 0  /* a worker's slot */
#define HELD 1  /* a delivery in hand, its claim not answered yet */
#define ASKED 2 /* the same, and an answer was lost: did the claim commit? */
#define TAKEN 3 /* the claim of the delivery has committed */
#define RUN 4   /* executing */
#define HUNG 5  /* executing, and deaf until its lease is gone */

/* A command is named by its task and version: n = task * VERSIONS + version, both from 0. */
#define TASK(n) ((n) / VERSIONS)
#define VERSION(n) ((n) % VERSIONS)
#define CURRENT(t) ((t) * VERSIONS + version[t])
#define COMMANDS (TASKS * VERSIONS)

/* ---- The database ------------------------------------------------------------------------------ */
byte status[TASKS]; /* table task; created PENDING with their command, in one transaction */
byte version[TASKS];
byte attempts[TASKS];
byte owner[TASKS];
bool cancel[TASKS];   /* cancel_requested */
bool deadline[TASKS]; /* execution_deadline_at has passed */
byte cmd[COMMANDS];   /* table outbox */

/* ---- Memory of processes, and the broker ------------------------------------------------------- */
byte slot[2]; /* two workers */
byte job[2];  /* the command each of them is busy with */
byte hand[COMMANDS];   /* in a publisher's hands: 1 leased, 2 sent and not settled */
bool copies[COMMANDS]; /* at least one message is on its way or unanswered; order means nothing */
byte retries, releases, faults;

/* ---- What the checks remember ------------------------------------------------------------------ */
byte reasons[TASKS];  /* I3: the lawful reasons to raise the version, counted */
bool running[TASKS];  /* I6: claimed, and not yet ended by its holder or the reconciler */
byte holder[TASKS];   /* I6: slot + 1 of the last claim */
byte claims[TASKS];   /* I4: 1 + the highest version ever claimed */
bool committed[TASKS];     /* I6: a success was committed */
bool buried[COMMANDS]; /* I11: was quarantined */
bool wiped[TASKS];    /* the command of a waiting task was removed by retention */
hidden byte i;        /* scratch within one step */

/* ---- The two forms ----------------------------------------------------------------------------- */
#ifdef LIVE
#define MAY_FAIL (faults < FAULTS)
#define FAIL faults++
#else
#define MAY_FAIL true
#define FAIL skip
#endif

/* Two instances with one slot each, or (ONE_INSTANCE) two slots of one instance. */
#ifdef ONE_INSTANCE
#define NAME(w) 1
#define TOGETHER(a, b) true
#else
#define NAME(w) ((w) + 1)
#define TOGETHER(a, b) ((a) == (b))
#endif

#define LIVE_COMMAND(n) (cmd[n] == C_PENDING || cmd[n] == C_CLAIMED || cmd[n] == C_SENT)
#define ENDED(t) (status[t] >= SUCCEEDED)
#define BUSY_WITH(w, n) (slot[w] >= TAKEN && job[w] == (n))
#define IN_MAP(w, n) (slot[w] != IDLE && job[w] == (n))
/* Does the instance of w know this execution, in either slot? (ExecutionMap) */
#define KNOWN(w, n) ((TOGETHER(w, 0) && IN_MAP(0, n)) || (TOGETHER(w, 1) && IN_MAP(1, n)))
#define OTHER(w) (1 - (w))

/* May branch 2 find the lease expired? */
#ifdef LIVE
#ifdef BREAK_RENEWAL_IGNORES_DEADLINE
#define LEASE_OVER(t) (owner[t] == GONE || !(BUSY_WITH(0, CURRENT(t)) || BUSY_WITH(1, CURRENT(t))))
#else
#define LEASE_OVER(t) \
  (owner[t] == GONE || deadline[t] || !(BUSY_WITH(0, CURRENT(t)) || BUSY_WITH(1, CURRENT(t))))
#endif
#else
#define LEASE_OVER(t) true
#endif

/* The fence of every change that an owner makes to its running task. */
#define RIGHT_STATE(w) (status[TASK(job[w])] == RUNNING)
#define RIGHT_VERSION(w) (version[TASK(job[w])] == VERSION(job[w]))
#define RIGHT_OWNER(w) (owner[TASK(job[w])] == NAME(w))
#if defined(BREAK_FENCE)
#define OWNS(w) RIGHT_STATE(w)
#elif defined(BREAK_FENCE_VERSION)
#define OWNS(w) (RIGHT_STATE(w) && RIGHT_OWNER(w))
#elif defined(BREAK_FENCE_STATE)
#define OWNS(w) (RIGHT_VERSION(w) && RIGHT_OWNER(w))
#elif defined(SPARE_FENCE_OWNER)
#define OWNS(w) (RIGHT_STATE(w) && RIGHT_VERSION(w))
#else
#define OWNS(w) (RIGHT_STATE(w) && RIGHT_VERSION(w) && RIGHT_OWNER(w))
#endif

#if TASKS == 1
#define EACH_TASK(o) o(0)
#else
#define EACH_TASK(o) o(0) o(1)
#endif

#if COMMANDS == 1
#define EACH_COMMAND(o) o(0)
#elif COMMANDS == 2
#define EACH_COMMAND(o) o(0) o(1)
#elif COMMANDS == 3
#define EACH_COMMAND(o) o(0) o(1) o(2)
#elif COMMANDS == 4
#define EACH_COMMAND(o) o(0) o(1) o(2) o(3)
#elif COMMANDS == 5
#define EACH_COMMAND(o) o(0) o(1) o(2) o(3) o(4)
#elif COMMANDS == 6
#define EACH_COMMAND(o) o(0) o(1) o(2) o(3) o(4) o(5)
#elif COMMANDS == 7
#define EACH_COMMAND(o) o(0) o(1) o(2) o(3) o(4) o(5) o(6)
#elif COMMANDS == 8
#define EACH_COMMAND(o) o(0) o(1) o(2) o(3) o(4) o(5) o(6) o(7)
#else
#error "no EACH_COMMAND for so many commands"
#endif

/* ---- The checks, after every transaction ------------------------------------------------------- */
inline check(t) {
#ifndef LIVE
  d_step {
    assert(version[t] == reasons[t]); /* I3: nothing else raises a version */
    assert(cmd[CURRENT(t)] != C_QUARANTINED || status[t] == FAILED); /* I11: its task is FAILED */
    assert((status[t] == RUNNING) == running[t]); /* I6: only the holder and the reconciler end an execution */
    assert(!committed[t] || status[t] == SUCCEEDED); /* I6: a committed success stays */
    assert(status[t] != PENDING || LIVE_COMMAND(CURRENT(t)) || wiped[t]); /* I2: who waits has a command */
    assert(status[t] != PENDING || !cancel[t]); /* cancel: nobody moves a cancelled task back */
    i = 0;
    do
    :: i < VERSIONS ->
      assert(!buried[t * VERSIONS + i] || cmd[t * VERSIONS + i] == C_QUARANTINED); /* I11: stays buried */
      assert((i == version[t] && status[t] == PENDING) ||
             !LIVE_COMMAND(t * VERSIONS + i)); /* I17: no command is left over */
      i++
    :: else -> break
    od;
    i = 0
  }
#else
  skip /* the adversary does all of that and more */
#endif
}

/* ---- Writing a transition ---------------------------------------------------------------------- */

/* A command that exists already is what was wanted. */
inline make_command(t) {
  if
  :: cmd[CURRENT(t)] == C_NONE -> cmd[CURRENT(t)] = C_PENDING; wiped[t] = false
  :: else
  fi
}

/* A quarantined command is evidence. */
inline delete_command(n) {
  if
  :: cmd[n] != C_QUARANTINED -> cmd[n] = C_NONE
  :: else
  fi
}

inline next_attempt(t) {
  running[t] = false;
  owner[t] = NOBODY;
  deadline[t] = false;
  status[t] = PENDING;
  assert(version[t] + 1 < VERSIONS); /* I3: the attempts bound the versions */
  version[t]++;
  reasons[t]++;
#ifndef BREAK_RETRY_FORGETS_COMMAND
  make_command(t)
#endif
}

inline end_as(t, state) {
  running[t] = false;
  deadline[t] = false;
  cancel[t] = false;
  status[t] = state
}

/* A requested cancel comes first, then the attempts that are left. */
inline again_or_fail(t) {
  if
#ifndef BREAK_RECOVERY_IGNORES_CANCEL
  :: cancel[t] -> end_as(t, CANCELLED)
  :: !cancel[t] && attempts[t] < MAX_ATTEMPTS -> next_attempt(t)
  :: !cancel[t] && attempts[t] >= MAX_ATTEMPTS -> end_as(t, FAILED)
#else
  :: attempts[t] < MAX_ATTEMPTS -> next_attempt(t)
  :: else -> end_as(t, FAILED)
#endif
  fi
}

inline give_back(t) {
  releases++;
  if
  :: cancel[t] -> end_as(t, CANCELLED)
  :: else -> attempts[t]--; next_attempt(t)
  fi
}

/* ---- Claiming ---------------------------------------------------------------------------------- */

/* The conditional update, and the command deleted in the same transaction. */
inline take(w, n) {
  assert(VERSION(n) == version[TASK(n)]); /* I4: no other version starts */
  assert(status[TASK(n)] == PENDING); /* I6: nobody steals a running task */
  assert(version[TASK(n)] >= claims[TASK(n)]); /* I4: a version is claimed once */
  claims[TASK(n)] = version[TASK(n)] + 1;
  status[TASK(n)] = RUNNING;
#ifndef BREAK_CLAIM_COUNTS_NOTHING
  attempts[TASK(n)]++;
#endif
  owner[TASK(n)] = NAME(w);
  running[TASK(n)] = true;
  holder[TASK(n)] = w + 1;
#ifndef BREAK_CLAIM_KEEPS_COMMAND
  delete_command(n)
#endif
}

#if defined(BREAK_CLAIM_ANY_VERSION)
#define CLAIMABLE(n) (status[TASK(n)] == PENDING && cmd[CURRENT(TASK(n))] != C_NONE)
#elif defined(BREAK_DELIVERY_STEALS)
#define CLAIMABLE(n) \
  (version[TASK(n)] == VERSION(n) && (status[TASK(n)] == RUNNING || cmd[n] != C_NONE))
#else
#define CLAIMABLE(n) \
  (status[TASK(n)] == PENDING && version[TASK(n)] == VERSION(n) && cmd[CURRENT(TASK(n))] != C_NONE)
#endif

/* The claim's answer was lost: RUNNING in my name at that version is mine. */
#ifdef BREAK_LOST_ANSWER_IS_MINE
#define MINE(w) (RIGHT_STATE(w) && RIGHT_VERSION(w))
#else
#define MINE(w) (RIGHT_STATE(w) && RIGHT_VERSION(w) && RIGHT_OWNER(w))
#endif
/* ... unless the other slot has started it meanwhile: its entry in the map has a new ticket. */
#ifdef BREAK_NO_TICKET
#define TICKET(w) true
#else
#define TICKET(w) (!(TOGETHER(w, OTHER(w)) && BUSY_WITH(OTHER(w), job[w])))
#endif

inline leave(w) {
  slot[w] = IDLE;
  job[w] = 0
}

inline start(w) {
  assert(job[OTHER(w)] != job[w] || slot[OTHER(w)] < RUN); /* I6: one version, one execution */
  slot[w] = RUN
}

/* The adversary keeps every message for ever, so an answer forgets nothing there. */
inline acknowledge(n) {
#ifdef LIVE
  if
  :: copies[n] = false
  :: MAY_FAIL && copies[n] -> FAIL /* another copy is on its way */
  fi
#else
  skip
#endif
}

/* Committed, or known to have had no effect. */
inline acknowledge_answered(w) {
  assert(status[TASK(job[w])] != PENDING || !RIGHT_VERSION(w) ||
         !LIVE_COMMAND(job[w])); /* I5: the claim has its answer */
  acknowledge(job[w])
}

inline claim_delivered(w) {
  if
  :: CLAIMABLE(job[w]) ->
    take(w, job[w]);
    if
    :: slot[w] = TAKEN
    :: MAY_FAIL -> FAIL; slot[w] = ASKED
    fi
  :: CLAIMABLE(job[w]) && MAY_FAIL && slot[w] == HELD -> FAIL; slot[w] = ASKED /* lost before it committed */
  :: !CLAIMABLE(job[w]) && slot[w] == ASKED && MINE(w) && TICKET(w) ->
    assert(RIGHT_OWNER(w)); /* I6: the lost claim was mine */
    holder[TASK(job[w])] = w + 1;
    slot[w] = TAKEN
  :: !CLAIMABLE(job[w]) && !(slot[w] == ASKED && MINE(w) && TICKET(w)) ->
    acknowledge_answered(w);
    leave(w)
  fi
}

/* Stale commands are removed on the way. */
inline claim_next(w, n) {
  if
  :: status[TASK(n)] == PENDING && version[TASK(n)] == VERSION(n) ->
    take(w, n);
    if
    :: job[w] = n; start(w)
    :: MAY_FAIL -> FAIL /* the answer is lost: RUNNING in my name, and nobody executes it */
    fi
  :: else -> delete_command(n)
  fi
}

/* ---- The end of an execution ------------------------------------------------------------------- */

/* Conditional on the fence. An answer that gets lost leaves the slot where it is: it asks again. */
inline answered(w) {
  if
  :: leave(w)
  :: MAY_FAIL -> FAIL
  fi
}

inline only_the_holder(t, w) {
  assert(holder[t] == w + 1 && running[t] && version[t] == VERSION(job[w])) /* I6: the end is its holder's */
}

inline succeed(w, t) {
  if
  :: !OWNS(w) -> leave(w)
  :: OWNS(w) ->
    only_the_holder(t, w);
    if
    :: cancel[t] -> end_as(t, CANCELLED) /* an export gives way */
    :: /* and an action does not, for its effect is real */
      assert(!deadline[t]); /* I6: a success needs time left */
      committed[t] = true;
      end_as(t, SUCCEEDED)
    fi;
    check(t);
    answered(w)
  fi
}

inline finish_otherwise(w, t) {
  if
  :: !OWNS(w) -> leave(w)
  :: OWNS(w) -> /* fail */
    only_the_holder(t, w);
    end_as(t, FAILED);
    check(t);
    answered(w)
  :: OWNS(w) -> /* retry_later, overdue */
    only_the_holder(t, w);
    again_or_fail(t);
    check(t);
    answered(w)
  :: OWNS(w) && releases < RELEASES -> /* release: shutdown */
    only_the_holder(t, w);
    give_back(t);
    check(t);
    answered(w)
  :: OWNS(w) && cancel[t] -> /* stop_observed */
    only_the_holder(t, w);
    end_as(t, CANCELLED);
    check(t);
    answered(w)
  fi
}

#ifdef BREAK_SUCCESS_PAST_DEADLINE
#define IN_TIME(w) true
#else
#define IN_TIME(w) (!RIGHT_VERSION(w) || !deadline[TASK(job[w])])
#endif

/* ---- Workers ----------------------------------------------------------------------------------- */
#if defined(EMBEDDED)
#define ON_OFFER(n) (cmd[n] == C_PENDING)
#elif defined(NO_SWEEP)
#define ON_OFFER(n) false
#else
#define ON_OFFER(n) (cmd[n] == C_PENDING || cmd[n] == C_SENT)
#endif
#define OFFERED(n) :: slot[w] == IDLE && ON_OFFER(n) -> c = n
#define DELIVERED(n) :: slot[w] == IDLE && copies[n] -> c = n

proctype Worker(byte w) {
  byte c;
end:
  do
#ifndef NO_SWEEP
  :: atomic {
      if EACH_COMMAND(OFFERED) fi;
      claim_next(w, c);
      check(TASK(c));
      c = 0
    }
#endif
#ifndef EMBEDDED
  :: atomic {
      if EACH_COMMAND(DELIVERED) fi;
      if
      :: KNOWN(w, c) -> acknowledge(c) /* a repetition of what this process is busy with */
      :: else ->
        job[w] = c;
        slot[w] = HELD;
#ifdef BREAK_ACK_BEFORE_CLAIM
        acknowledge_answered(w)
#endif
      fi;
      c = 0
    }
  :: atomic {
      (slot[w] == HELD || slot[w] == ASKED) ->
      c = job[w];
      claim_delivered(w);
      check(TASK(c));
      c = 0
    }
  :: atomic { slot[w] == TAKEN -> acknowledge_answered(w); start(w) }
#endif
  :: atomic { slot[w] == RUN && IN_TIME(w) -> c = TASK(job[w]); succeed(w, c); c = 0 }
  :: atomic { slot[w] == RUN -> c = TASK(job[w]); finish_otherwise(w, c); c = 0 }
#ifdef LIVE
  :: atomic { slot[w] == RUN && MAY_FAIL -> FAIL; slot[w] = HUNG }
  :: atomic { slot[w] == HUNG && !OWNS(w) -> slot[w] = RUN } /* wakes as a zombie, its result in hand */
#endif
  od
}

/* ---- Publishers -------------------------------------------------------------------------------- */

/* The adversary has any number of them, and any of them may be frozen with a command in its hands: `hand`
 * never goes down. With LIVE there is one. */
#ifdef LIVE
#define HAND_OVER(n) hand[n] = 0
#else
#define HAND_OVER(n) skip
#endif
#define TO_LEASE(n) :: cmd[n] == C_PENDING && CAN_LEASE(n) -> c = n
#define TO_SEND(n) :: hand[n] == 1 -> c = n
#define TO_SETTLE(n) :: hand[n] == 2 && CAN_SETTLE(n) -> c = n
#define IN_HAND(n) :: MAY_FAIL && hand[n] > 0 && CAN_SETTLE(n) -> c = n
#ifdef LIVE
#define CAN_LEASE(n) (hand[n] == 0)
#define CAN_SETTLE(n) true
#else
#define CAN_LEASE(n) true
#if defined(BREAK_UNCONDITIONAL_SENT)
#define CAN_SETTLE(n) (cmd[n] != C_NONE)
#else
#define CAN_SETTLE(n) (cmd[n] == C_CLAIMED)
#endif
#endif

inline settle(n, to) {
#ifdef BREAK_UNCONDITIONAL_SENT
  cmd[n] = to;
#else
  if
  :: cmd[n] == C_CLAIMED -> cmd[n] = to
  :: else
  fi;
#endif
  HAND_OVER(n)
}

#ifdef BREAK_SENDING_GIVES_UP
#define AFTER_FAILED_SEND C_GIVEN_UP
#else
#define AFTER_FAILED_SEND C_PENDING
#endif

#ifndef EMBEDDED
proctype Publisher() {
  byte c;
end:
  do
  :: atomic {
      if EACH_COMMAND(TO_LEASE) fi;
      assert(!buried[c]); /* I11: a quarantined command is not sent again */
      cmd[c] = C_CLAIMED;
      if
      :: hand[c] == 0 -> hand[c] = 1
      :: else
      fi;
      check(TASK(c));
      c = 0
    }
  :: atomic { if EACH_COMMAND(TO_SEND) fi; copies[c] = true; hand[c] = 2; c = 0 }
  :: atomic { if EACH_COMMAND(TO_SETTLE) fi; settle(c, C_SENT); check(TASK(c)); c = 0 }
  :: atomic { if EACH_COMMAND(IN_HAND) fi; FAIL; settle(c, AFTER_FAILED_SEND); check(TASK(c)); c = 0 }
  od
}
#endif

/* ---- Reconciler -------------------------------------------------------------------------------- */
#define MISSING(t) :: status[t] == PENDING && cmd[CURRENT(t)] == C_NONE -> c = t
#define STALE(n) :: cmd[n] == C_SENT -> c = n
#define EXPIRED(t) :: status[t] == RUNNING && LEASE_OVER(t) -> c = t
#define UNFAIRLY(t) :: MAY_FAIL && status[t] == RUNNING && !(LEASE_OVER(t)) -> c = t
#if defined(BREAK_RELEASE_REVIVES)
#define STUCK(n) :: cmd[n] == C_CLAIMED || cmd[n] == C_QUARANTINED -> c = n
#else
#define STUCK(n) :: cmd[n] == C_CLAIMED -> c = n
#endif

/* 1a: a waiting task without a command. Only retention can have removed it. */
proctype MakeMissing() {
  byte c;
end:
  do
  :: atomic {
      if EACH_TASK(MISSING) fi;
      make_command(c);
#ifdef BREAK_1A_RAISES_VERSION
      version[c]++;
#endif
      check(c);
      c = 0
    }
  od
}

/* 1b: sent long ago and not claimed. */
proctype ResendStale() {
  byte c;
end:
  do
  :: atomic {
      if EACH_COMMAND(STALE) fi;
      if
      :: status[TASK(c)] == PENDING && version[TASK(c)] == VERSION(c) ->
#ifdef BREAK_1B_RAISES_VERSION
        delete_command(c);
        version[TASK(c)]++;
        make_command(TASK(c))
#else
        cmd[c] = C_PENDING
#endif
      :: else -> delete_command(c)
      fi;
      check(TASK(c));
      c = 0
    }
  od
}

inline recover(t) {
#ifdef BREAK_RECOVERY_KEEPS_VERSION
  running[t] = false;
  owner[t] = NOBODY;
  status[t] = PENDING;
  make_command(t);
#else
  again_or_fail(t);
#endif
  check(t)
}

/* 2: a lease that ran out, its holder dead or not. */
proctype RecoverLeases() {
  byte c;
end:
  do
  :: atomic { if EACH_TASK(EXPIRED) fi; recover(c); c = 0 }
  od
}

/* 3: a publisher that never said how it went. */
proctype ReleaseStuck() {
  byte c;
end:
  do
  :: atomic { if EACH_COMMAND(STUCK) fi; cmd[c] = C_PENDING; check(TASK(c)); c = 0 }
  od
}

/* ---- Watchdog: what runs in my name and nobody here executes, is given back --------------------- */
#define STRAY(t) \
  :: releases < RELEASES && status[t] == RUNNING && owner[t] != GONE && \
     !KNOWN(owner[t] - 1, CURRENT(t)) -> c = t

proctype Watchdog() {
  byte c;
end:
  do
  :: atomic { if EACH_TASK(STRAY) fi; give_back(c); check(c); c = 0 }
  od
}

/* ---- Dead letters ------------------------------------------------------------------------------ */
#define LETTER(n) :: MAY_FAIL && copies[n] -> c = n
#ifdef BREAK_LATE_LETTER
#define TO_BURY(n) (cmd[n] != C_QUARANTINED)
#else
#define TO_BURY(n) \
  (status[TASK(n)] == PENDING && version[TASK(n)] == VERSION(n) && LIVE_COMMAND(n))
#endif

/* The role reads the message's properties; one transaction locks the task, then the command. */
inline bury(n) {
  acknowledge(n);
  if
  :: TO_BURY(n) ->
    cmd[n] = C_QUARANTINED;
    buried[n] = true;
#if defined(BREAK_LATE_LETTER)
    status[TASK(n)] = FAILED
#elif !defined(BREAK_BURIED_ALONE)
    end_as(TASK(n), FAILED)
#endif
  :: else
  fi;
  check(TASK(n))
}

/* ---- People ------------------------------------------------------------------------------------ */
#define UNCANCELLED(t) :: status[t] == PENDING || (status[t] == RUNNING && !cancel[t]) -> c = t
#define RETRYABLE(t) :: retries < RETRIES && status[t] == FAILED -> c = t

inline withdraw(t) {
  if
#ifdef BREAK_CANCEL_READS_EARLIER
  :: true -> status[t] = CANCELLED; cancel[t] = false; delete_command(CURRENT(t)) /* as it was when it was read */
#else
  :: status[t] == PENDING ->
    end_as(t, CANCELLED);
#ifndef BREAK_CANCEL_LEAVES_COMMAND
    delete_command(CURRENT(t))
#endif
  :: status[t] == RUNNING -> cancel[t] = true
#endif
  fi
}

inline start_over(t) {
  retries++;
  attempts[t] = 0;
#ifdef BREAK_MANUAL_RETRY_KEEPS_VERSION
  status[t] = PENDING;
  cmd[CURRENT(t)] = C_PENDING
#else
  next_attempt(t)
#endif
}

/* ---- Time, mishaps -------------------------------------------------------------------------- */
#define LATE(t) :: status[t] == RUNNING && !deadline[t] -> c = t
#define LOSABLE(n) :: MAY_FAIL && copies[n] -> c = n
#define REMOVABLE(n) :: MAY_FAIL && cmd[n] == C_SENT -> c = n
#define HELD_BY_PUBLISHER(n) :: MAY_FAIL && hand[n] > 0 -> c = n

proctype Clock() {
  byte c;
end:
  do
  :: atomic { if EACH_TASK(LATE) fi; deadline[c] = true; c = 0 }
  od
}

inline forget_owner(t, name) {
  if
  :: status[t] == RUNNING && owner[t] == name -> owner[t] = GONE
  :: else
  fi
}

/* The process ends; another one starts at once, under a new name. */
inline crash(w) {
  leave(w);
#ifdef ONE_INSTANCE
  leave(OTHER(w));
#endif
  forget_owner(0, NAME(w));
#if TASKS > 1
  forget_owner(1, NAME(w))
#endif
}

inline wipe(n) {
  cmd[n] = C_NONE;
  if
  :: status[TASK(n)] == PENDING && version[TASK(n)] == VERSION(n) -> wiped[TASK(n)] = true
  :: else
  fi
}

/* ---- All of them, and what may happen but never has to ----------------------------------------- */
init {
  byte c;
  atomic {
    cmd[0] = C_PENDING;
#if TASKS > 1
    cmd[VERSIONS] = C_PENDING;
#endif
    run Worker(0);
    run Worker(1);
    run Clock();
#if RELEASES > 0
    run Watchdog();
#endif
#ifndef BREAK_NO_1A
    run MakeMissing();
#endif
#ifndef BREAK_NO_BRANCH_2
    run RecoverLeases();
#endif
#ifndef EMBEDDED
    run Publisher();
#ifndef BREAK_NO_1B
    run ResendStale();
#endif
#ifndef BREAK_NO_BRANCH_3
    run ReleaseStuck();
#endif
#endif
  }
end:
  do
  :: atomic { if EACH_TASK(UNCANCELLED) fi; withdraw(c); check(c); c = 0 }
  :: atomic { if EACH_TASK(RETRYABLE) fi; start_over(c); check(c); c = 0 }
  :: atomic { MAY_FAIL && slot[0] != IDLE -> FAIL; crash(0) }
  :: atomic { MAY_FAIL && slot[1] != IDLE -> FAIL; crash(1) }
#ifndef EMBEDDED
  :: atomic { if EACH_COMMAND(REMOVABLE) fi; FAIL; wipe(c); check(TASK(c)); c = 0 } /* retention: SENT for days */
  :: atomic { if EACH_COMMAND(LETTER) fi; FAIL; bury(c); c = 0 }
#endif
#ifdef LIVE
  :: atomic { if EACH_TASK(UNFAIRLY) fi; FAIL; recover(c); c = 0 } /* renewals did not get through */
#ifndef EMBEDDED
  :: atomic { if EACH_COMMAND(LOSABLE) fi; FAIL; copies[c] = false; c = 0 }
  :: atomic { if EACH_COMMAND(HELD_BY_PUBLISHER) fi; FAIL; hand[c] = 0; c = 0 } /* the publisher crashed */
#endif
  :: faults <= FAULTS /* nothing happens: without this step SPIN's fair search overlooks that all is stuck */
#endif
  od
}

#ifdef LIVE
#if TASKS == 1
ltl I1 { <>[] ENDED(0) }
#else
ltl I1 { <>[] (ENDED(0) && ENDED(1)) }
#endif
#endif
