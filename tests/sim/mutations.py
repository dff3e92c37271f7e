#!/usr/bin/env python3
"""Breaks the product on purpose, one rule at a time, and counts the seeds that the simulation needs to see it.

  tests/sim/mutations.py               all of them
  tests/sim/mutations.py --pick 5      five, others every day
  tests/sim/mutations.py NAME ...      these
  --seeds N                            seeds at most for each (2,000)

Works in a copy of the tree (build/mutations), so the tree itself is never touched. Prints one line per mutation and
ends with 1 when one survives: then a checker is missing.
"""

import argparse
import datetime
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutations"

# name: [(file, text, text instead), ...]; every text occurs exactly once.
MUTATIONS = {
    "success-without-version": [("src/store/sql/finish.sql", "dispatch_version = :version AND (status + 0) = 1\n",
                                 "(dispatch_version = :version OR 1 = 1) AND (status + 0) = 1\n"),
                                ("src/store/sql_finish.cc", "row.version == item.execution.version && row.owner == owner_ &&",
                                 "row.version >= item.execution.version && row.owner == owner_ &&")],
    "success-after-deadline": [("src/store/sql/finish.sql", "  AND execution_deadline_at > waybill_now() AND (kind",
                                "  AND (kind"),
                               ("src/core/decide.cc", "if (task.execution_deadline_at <= now) return refuse(task, Refusal::kOverdue);", "")],
    "success-despite-cancel": [("src/store/sql/finish.sql", " AND (kind = 2 OR cancel_requested = 0)", ""),
                               ("src/core/decide.cc", "if (task.kind == TaskKind::kExport && task.cancel_requested)",
                                "if (false)")],
    "claim-keeps-command": [("src/store/sql_claim.cc", "    session.run(\"command_delete\", list, version);\n", "")],
    "claim-early": [("src/store/sql_claim.cc", "if (rows.integer(5) > rows.integer(2)) continue;", ""),
                    ("src/store/sql/claim.sql", "AND o.due_at <= waybill_now()\n",
                     "AND o.due_at <= waybill_now() + 60000\n")],
    "claim-counts-no-attempt": [("src/store/sql/claim.sql", "attempt_count = attempt_count + 1, started_at",
                                 "attempt_count = attempt_count, started_at")],
    "claim-any-type": [("src/store/sql_claim.cc", "const int any = request.known_types.empty() ? 1 : 0;", "const int any = 1;")],
    "delivery-without-version": [("src/store/sql_claim.cc",
                                  "if (claimable && request.commands[i].version == rows.int32(3)) {", "if (claimable) {")],
    "delivery-without-command": [("src/store/sql_claim.cc",
                                  "rows.integer(5) <= rows.integer(2) && rows.integer(19) != 0;",
                                  "rows.integer(5) <= rows.integer(2);")],
    "ack-before-claim": [("src/dispatch/delivery_feed.cc", "  held_.push_back({.execution = message->execution,",
                          "  ack.push_back(delivery.token);\n  held_.push_back({.execution = message->execution,")],
    "start-before-ack": [("src/dispatch/delivery_feed.cc",
                          "  for (const Answer& answer : answers) ack.push_back(answer.held.token);\n  settle(ack, transport::Settle::kAck);\n",
                          "  for (const Answer& answer : answers) ack.push_back(answer.held.token);\n  const std::vector<transport::Token> late = ack;\n"),
                         ("src/dispatch/delivery_feed.cc",
                          "    bench_.start(std::move(*answer.claimed), held.slot, std::move(stop));\n  }\n",
                          "    bench_.start(std::move(*answer.claimed), held.slot, std::move(stop));\n  }\n  settle(late, transport::Settle::kAck);\n")],
    "failed-claim-is-an-answer": [("src/dispatch/delivery_feed.cc", "  set_hold(true);\n  const Millis wait = backoff_.next();",
                                   "  std::vector<transport::Token> gone;\n  for (const Held& held : held_) gone.push_back(held.token);\n"
                                   "  settle(gone, transport::Settle::kAck);\n  drop_held();\n  const Millis wait = backoff_.next();")],
    "renewal-beyond-deadline": [("src/store/sql_watch.cc", "const bool overdue = rows.integer(3) != 0;", "const bool overdue = false;")],
    "nothing-is-renewed": [("src/store/sql_watch.cc", "if (!overdue) extend.push_back(rows.integer(0));", "")],
    "progress-of-any-version": [("src/store/sql/finish.sql",
                                 "WHERE export_task.task_id = r.id AND export_task.dispatch_version = r.version;",
                                 "WHERE export_task.task_id = r.id AND (export_task.dispatch_version = r.version OR 1 = 1);")],
    "progress-renews": [("src/store/sql_control.cc",
                         "[&](Session& session) { session.run(\"progress_save\", rows.text()); });",
                         "[&](Session& session) {\n  session.run(\"progress_save\", rows.text());\n  for (const Progress& p : items)"
                         " session.run(\"renew_extend\", id_list(std::span(&p.execution.id, 1)), Millis{4'000'000'000'000});\n});")],
    "recovery-of-living-leases": [("src/store/sql/repair.sql", "WHERE status = 1 AND lease_until <= waybill_now()\n",
                                   "WHERE status = 1 AND lease_until <= waybill_now() + 60000\n"),
                                  ("src/store/sql_repair.cc",
                                   "(expired_only && t.lease_until && *t.lease_until > t.now);", "false;")],
    "retry-keeps-version": [("src/core/decide.cc", "  change.raise_version = true;\n", "")],
    "resend-raises-version": [("src/store/sql/repair.sql", "-- name: command_remove\n",
                               "-- name: raise_all\n-- in:   commands text\nUPDATE task SET dispatch_version = dispatch_version + 1"
                               " FROM @rows(commands: id int, version int) r WHERE task.id = r.id;\n\n-- name: command_remove\n"),
                              ("src/store/sql_repair.cc", "    if (!resend.empty()) walked.changed += session.run(\"command_resend\"",
                               "    if (!resend.empty()) session.run(\"raise_all\", resend.text());\n"
                               "    if (!resend.empty()) walked.changed += session.run(\"command_resend\"")],
    "missing-commands-stay-missing": [("src/dispatch/reconciler.cc", "case Branch::kMissing:", "case Branch::kMissing:\n      return false;")],
    "nothing-is-sent-again": [("src/dispatch/reconciler.cc", "case Branch::kStale:", "case Branch::kStale:\n      return false;")],
    "expired-leases-stay": [("src/dispatch/reconciler.cc", "case Branch::kLeases:", "case Branch::kLeases:\n      return false;")],
    "stuck-commands-stay": [("src/dispatch/reconciler.cc", "case Branch::kStuck:", "case Branch::kStuck:\n      return false;")],
    "end-promotes-nobody": [("src/store/sql_finish.cc", "    transitions_.promote(session_, freed_, hints_);\n", "")],
    "cancel-promotes-nobody": [("src/store/transition.cc",
                                "if (t.task.serial_key && (t.change.release_key || blocked)) freed.insert(t.task.slot());",
                                "if (t.task.serial_key && blocked) freed.insert(t.task.slot());")],
    "job-is-not-counted": [("src/store/sql_finish.cc", "    Transitions::count_jobs(session_, jobs_);\n", "")],
    "blocked-task-with-command": [("src/store/sql_create.cc", "    if (!tasks[i]->serial_key) due.push_back(ids[i]);",
                                   "    due.push_back(ids[i]);"),
                                  ("src/store/sql/create.sql", "WHERE t.id = p.id AND (t.status + 0) = 0\n",
                                   "WHERE t.id = p.id AND (t.status + 0) IN (0, 6)\n")],
    "poison-without-event-id": [("src/store/sql_commands.cc",
                                 "if (!command || command->event_id != letter.event_id) return;", "if (!command) return;")],
    "poison-without-failure": [("src/store/sql_commands.cc", "    transitions_.apply(session, changes, hints);\n", "")],
    "manual-retry-keeps-version": [("src/core/decide.cc", "  change.attempts = AttemptUpdate::kReset;",
                                    "  change.raise_version = false;\n  change.attempts = AttemptUpdate::kReset;")],
    "release-costs-an-attempt": [("src/core/decide.cc", "  change.attempts = AttemptUpdate::kTakeBack;\n", "")],
    "unknown-outcome-is-a-no": [("src/dispatch/finisher.cc", "      keep(std::move(batch), outcomes.ok()",
                                 "      if (!outcomes.ok() && outcomes.error().category == base::ErrorCategory::kOutcomeUnknown) {\n"
                                 "        for (const Item& item : batch) close(item, FinishOutcome::kFenced);\n      } else\n"
                                 "      keep(std::move(batch), outcomes.ok()")],
    "every-object-is-an-orphan": [("src/store/sql/repair.sql", "WHERE e.object_key IS NOT NULL AND e.object_key IN @list(keys text)",
                                   "WHERE 1 = 0 AND e.object_key IS NOT NULL AND e.object_key IN @list(keys text)")],
    "last-page-is-lost": [("src/exporting/page_stream.cc", "  return std::move(page);\n",
                           "  if (ended_ && rows_ > page.rows) return EndOfPages{};\n  return std::move(page);\n")],
    "cancel-ends-a-running-task": [("src/core/decide.cc", "{kWithdraw, kAskToStop, kEnded,", "{kWithdraw, kWithdraw, kEnded,")],
}


def prepare():
    if COPY.exists():
        shutil.rmtree(COPY / "src", ignore_errors=True)
    COPY.mkdir(parents=True, exist_ok=True)
    for name in ("src", "tests", "cmake", "fuzz", "bench", "docs", "examples"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, COPY / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy2(ROOT / name, COPY / name)
    # A mutant may leave a parameter unused.
    for path in (COPY / "cmake").glob("*.cmake"):
        path.write_text(path.read_text().replace("-Werror", ""))
    build("the unchanged copy")


def build(what):
    configure = subprocess.run(["cmake", "--preset", "release"], cwd=COPY, capture_output=True, text=True)
    made = subprocess.run(["cmake", "--build", "--preset", "release", "--target", "waybill_sim", "--", "--quiet"],
                          cwd=COPY, capture_output=True, text=True)
    if configure.returncode != 0 or made.returncode != 0:
        sys.exit(f"{what} does not build:\n{configure.stderr}{made.stdout[-4000:]}{made.stderr[-2000:]}")


def apply(name):
    before = {}
    for file, text, instead in MUTATIONS[name]:
        path = COPY / file
        content = path.read_text()
        before.setdefault(path, content)
        if content.count(text) != 1:
            sys.exit(f"{name}: {file} holds this {content.count(text)} times, not once:\n{text}")
        path.write_text(content.replace(text, instead))
    return before


def hunt(name, seeds):
    """(seeds needed, what was seen); seeds needed is None for a survivor."""
    before = apply(name)
    try:
        build(name)
        # A mutant may also hang or crash: both are seen, and neither may stop the hunt.
        done = subprocess.run([COPY / "build/release/waybill_sim", "--seed", "1", "--seeds", str(seeds)],
                              capture_output=True, text=True, timeout=3600)
    finally:
        for path, content in before.items():
            path.write_text(content)
    found = re.search(r"seed (\d+) breaks (\S+)", done.stdout)
    if found:
        return int(found.group(1)), found.group(2)
    if done.returncode != 0:
        return 0, (done.stderr.strip().splitlines() or ["crash"])[-1]
    return None, ""


def main():
    parser = argparse.ArgumentParser(prog="tests/sim/mutations.py")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pick", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2000)
    options = parser.parse_args()
    names = options.names or list(MUTATIONS)
    if unknown := [n for n in names if n not in MUTATIONS]:
        sys.exit(f"no such mutation: {', '.join(unknown)}")
    if options.pick:
        first = datetime.date.today().toordinal() * options.pick % len(names)
        names = [names[(first + i) % len(names)] for i in range(min(options.pick, len(names)))]
    prepare()
    survivors = []
    for name in names:
        began = time.monotonic()
        needed, what = hunt(name, options.seeds)
        took = time.monotonic() - began
        if needed is None:
            survivors.append(name)
            print(f"{name:<32} survives {options.seeds} seeds   ({took:.0f} s)", flush=True)
        else:
            print(f"{name:<32} seed {needed:>5}   {what:<5} ({took:.0f} s)", flush=True)
    build_note = "every mutation was caught" if not survivors else f"{len(survivors)} survived"
    print(f"{len(names)} mutations: {build_note}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
