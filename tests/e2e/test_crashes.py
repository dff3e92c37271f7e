"""Whatever kills or freezes the process: every task ends, with exactly one file, whose content is the provider's."""

import os
import random
import signal
import sqlite3
import threading
import time

import pytest

from harness import WAIT_S, Provider, read_rows, wait_until

PENDING, RUNNING, SUCCEEDED = 0, 1, 2  # of column task.status

# The states in which a kill at this moment can find the task. The second and third are held there; of the last two,
# which race with the end, the whole set must have hit a running one: test_kills_hit_the_end.
POSSIBLE = {
    "queued": {PENDING, RUNNING},
    "fetching": {RUNNING},
    "writing": {RUNNING},
    "finishing": {RUNNING, SUCCEEDED},
    "committing": {RUNNING, SUCCEEDED},
}
MOMENTS = list(POSSIBLE)
SEEDS = 200 if os.environ.get("WAYBILL_TEST_DEEP") else 20
KILLED_IN = {}  # seed -> state


def kill_at(moment, site, provider, task, dice):
    last_page = provider.rows // site.settings["batch_size"] - 1
    if moment == "queued":
        pass  # the answer to create is all that has happened for sure
    elif moment == "fetching":
        page = dice.randrange(0, last_page)
        provider.hold(page)
        provider.wait_for_page(page)
        site.kill()
        provider.release(page)
        return
    elif moment == "writing":
        page = dice.randrange(2, last_page)
        provider.hold(last_page)  # pages flow and are written, but it cannot end before the kill
        provider.wait_for_page(page)
        wait_until(site.hidden_files, "a hidden file")
        site.kill()
        provider.release(last_page)
        return
    elif moment == "finishing":
        provider.wait_for_page(last_page)
        spin = time.monotonic() + dice.random() * 0.01
        while time.monotonic() < spin:
            pass
    elif moment == "committing":
        wait_until(site.visible_files, "the finished file", every=0.0002)
    site.kill()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_kill_at_a_seeded_moment(site, provider, tmp_path, seed):
    dice = random.Random(seed)
    moment = MOMENTS[seed % len(MOMENTS)]
    provider.rows = dice.randrange(20, 60) * 100
    where = site().start()
    task = where.create()
    kill_at(moment, where, provider, task, dice)
    killed_in = where.query("SELECT status FROM task")[0][0]
    KILLED_IN[seed] = killed_in
    assert killed_in in POSSIBLE[moment], f"the kill missed its moment, {moment}"
    if moment == "writing":
        assert where.hidden_files()
    if moment == "committing":
        assert where.visible_files()
    where.start()
    detail = where.wait_for(task, "SUCCEEDED", "FAILED", "CANCELLED")
    assert detail["status"] == "SUCCEEDED", detail
    where.download(task, tmp_path / "out.xlsx")
    assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(provider.rows))
    assert len(where.visible_files()) == 1, "exactly one file, and no half-written one under a visible name"
    assert detail["file"]["size"] == (tmp_path / "out.xlsx").stat().st_size
    where.stop()
    assert where.query("PRAGMA integrity_check") == [("ok",)]
    assert where.query("SELECT count(*) FROM outbox") == [(0,)]


def test_kills_hit_the_end():
    if len(KILLED_IN) < SEEDS:
        pytest.skip("says something about the whole set of seeds only")
    for moment in ("finishing", "committing"):
        assert RUNNING in [state for seed, state in KILLED_IN.items() if MOMENTS[seed % len(MOMENTS)] == moment], \
            f"every kill came after the commit: {moment} is not tested"


def test_kill_with_many_waiting_and_running(site, provider, tmp_path):
    provider.rows = 1000
    where = site().start()
    tasks = [where.create(parameters={"n": n}) for n in range(12)]
    provider.wait_for_page(3)
    where.kill()
    where.start()
    for task in tasks:
        where.wait_for(task, "SUCCEEDED")
    assert len(where.visible_files()) == len(tasks)
    for task in tasks:
        where.download(task, tmp_path / "out.xlsx")
        assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(1000))


def test_a_task_that_kills_its_process_is_counted(site, provider):
    """Attempts are committed by the claim (I13): three starts without an end, then FAILED, never a fourth run."""
    where = site(max_attempts=3).start()
    provider.hold(0)
    task = where.create()

    def asked():
        return {int(r["body"]["dispatchVersion"]) for r in list(provider.requests)}

    for version in (1, 2, 3):
        wait_until(lambda: version in asked(), f"the execution of version {version}")
        assert where.detail(task)["status"] == "RUNNING"
        where.kill()
        where.start()
    detail = where.wait_for(task, "FAILED")
    assert detail["attempt"] == 3
    assert detail["failure"]["class"] == "LOST"
    assert "instance" in detail["failure"]["message"]
    assert asked() == {1, 2, 3}


RELOADS = ("signal", "change")


@pytest.mark.parametrize("how", RELOADS)
def test_killed_while_the_registry_reloads(site, provider, how):
    """Reloaded by SIGHUP or by the file's change and killed at a seeded moment of it, five times: the next process has
    one registry or the other, and the tasks of both go on."""
    dice = random.Random(how)
    provider.rows = 400
    where = site()
    texts = [where.registry.read_text(), where.registry.read_text().replace("batch_size: 100", "batch_size: 50")]
    fast_looks = {"WAYBILL_REGISTRY_CHECK_SECONDS": "0.1"}
    where.start(environment=fast_looks)
    tasks = []
    for turn in range(5):
        tasks.append(where.create(parameters={"n": turn}))
        for n in range(20):
            fresh = where.registry.with_suffix(".new")
            fresh.write_text(texts[n % 2])
            fresh.rename(where.registry)
            if how == "signal":
                where.kill(signal.SIGHUP)
        if how == "change":
            wait_until(lambda: "registry_reloaded" in where.log_text(), "a reload")
        spin = time.monotonic() + dice.random() * 0.02
        while time.monotonic() < spin:
            if how == "signal":
                where.kill(signal.SIGHUP)
        where.kill()
        assert "registry_reload_failed" not in where.log_text()
        where.start(environment=fast_looks)
    for task in tasks:
        where.wait_for(task, "SUCCEEDED")
    asked = {}
    for request in provider.requests:
        body = request["body"]
        asked.setdefault((body["taskId"], body["dispatchVersion"]), set()).add(body["limit"])
    assert all(len(limits) == 1 and limits <= {50, 100} for limits in asked.values()), \
        "an execution keeps the registry that it began with"
    assert len(where.visible_files()) == len(tasks)


def test_frozen_past_its_lease(site, provider, tmp_path):
    """SIGSTOP past the lease, then SIGCONT: the stale execution commits nothing and leaves no file."""
    provider.rows = 3000
    where = site(lease_seconds=1.5, heartbeat_seconds=0.4, read_timeout=1.2).start()
    provider.hold(5)
    task = where.create()
    provider.wait_for_page(5)
    version = where.detail(task)["dispatchVersion"]
    where.kill(signal.SIGSTOP)
    lease_until = where.query("SELECT lease_until FROM task")[0][0]
    wait_until(lambda: time.time() * 1000 > lease_until + 300, "the lease to run out")
    provider.release(5)
    where.kill(signal.SIGCONT)
    detail = where.wait_for(task, "SUCCEEDED")
    assert detail["dispatchVersion"] > version
    where.download(task, tmp_path / "out.xlsx")
    assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(3000))
    wait_until(lambda: not where.hidden_files(), "the stale execution's file to go")
    files = where.visible_files()
    assert len(files) == 1
    assert files[0].name.startswith(f"{detail['dispatchVersion']}-"), "the file belongs to the execution that committed"


def test_terminated_in_mid_export_is_released(site, provider, tmp_path):
    """SIGTERM: given back at once, no attempt counted, and nothing waits for a lease."""
    provider.rows = 3000
    where = site(grace=0.3, lease_seconds=300, heartbeat_seconds=60).start()
    provider.hold(5)
    task = where.create()
    provider.wait_for_page(5)
    where.kill(signal.SIGTERM)
    wait_until(lambda: where.process.poll() is not None, "the end of the process", 30)
    provider.release(5)
    assert where.process.returncode == 0, where.log_text()
    assert where.query("SELECT status, dispatch_version, attempt_count FROM task") == [(0, 2, 0)]
    assert not where.hidden_files() and not where.visible_files()
    where.start()
    detail = where.wait_for(task, "SUCCEEDED", seconds=20)
    assert detail["attempt"] == 1
    assert detail["dispatchVersion"] == 2
    where.download(task, tmp_path / "out.xlsx")
    assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(3000))


def test_terminated_export_that_fits_into_the_grace_finishes(site, provider):
    provider.rows = 1000
    where = site(grace=20).start()
    provider.hold(5)
    task = where.create()
    provider.wait_for_page(5)
    where.kill(signal.SIGTERM)
    provider.release(5)
    wait_until(lambda: where.process.poll() is not None, "the end of the process", 30)
    assert where.query("SELECT status FROM task") == [(2,)]
    where.start()
    assert where.detail(task)["status"] == "SUCCEEDED"


def test_cancel_while_running_leaves_no_file(site, provider):
    provider.rows = 3000
    where = site().start()
    provider.hold(5)
    task = where.create()
    provider.wait_for_page(5)
    answer = where.call("POST", f"/files/export-tasks/{task}/cancel")
    assert answer["data"]["result"] == "cancelling"
    provider.release(5)
    where.wait_for(task, "CANCELLED")
    wait_until(lambda: not where.hidden_files() and not where.visible_files(), "no file to remain")


def test_lost_commands_come_back(site, provider):
    """Rows of the outbox deleted by hand: the reconciler alone makes the command again, same version."""
    where = site(reconciler_period=0.3).start()
    provider.hold(0)
    running = [where.create(parameters={"n": n}) for n in range(8)]
    waiting = where.create(parameters={"n": 99})
    assert where.detail(waiting)["status"] == "PENDING"
    where.kill()
    connection = sqlite3.connect(where.database)
    connection.execute("DELETE FROM outbox")
    connection.execute("UPDATE task SET due_at = due_at - 120000 WHERE status = 0")
    connection.commit()
    connection.close()
    where.start()
    provider.release(0)
    detail = where.wait_for(waiting, "SUCCEEDED")
    assert detail["dispatchVersion"] == 1, "a lost command never raises the version"
    for task in running:
        where.wait_for(task, "SUCCEEDED")


def test_nothing_is_left_open(site, provider):
    """D125: descriptors and threads return to where they were, also after calls that were cut or never answered,
    cancelled exports and reloads of the registry."""
    provider.rows = 500
    where = site(read_timeout=0.3, page_retry=[0.01], max_attempts=1).start()
    pid = where.process.pid

    def figures():
        return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))

    def expect_back(what):
        wait_until(lambda: figures()[0] <= before[0] + 15 and figures()[1] <= before[1] + 4,
                   f"descriptors and threads to return to {before} after {what}", 30)

    # Readers of the database and kept connections are made when they are first needed: a bounded
    # number. A leak grows with every export.
    for n in range(10):
        where.wait_for(where.create(parameters={"n": n}), "SUCCEEDED")
    before = figures()
    for n in range(100, 140):
        where.wait_for(where.create(parameters={"n": n}), "SUCCEEDED")
    expect_back("exports")

    def cut(handler, page, body):
        handler.close_connection = True

    answered = threading.Event()
    for what, script, count in (("calls that were cut", cut, 30),
                                ("calls without an answer", lambda *_: answered.wait(WAIT_S), 12)):
        provider.script["*"] = script
        for task in [where.create(parameters={what: n}) for n in range(count)]:
            where.wait_for(task, "FAILED")
        expect_back(what)
    answered.set()
    del provider.script["*"]
    provider.hold(0)
    tasks = [where.create(parameters={"held": n}) for n in range(20)]
    for task in tasks:
        where.call("POST", f"/files/export-tasks/{task}/cancel")
    for task in tasks:
        where.wait_for(task, "CANCELLED")
    provider.release(0)
    text = where.registry.read_text()
    for n in range(20):
        where.registry.write_text(text.replace("batch_size: 100", f"batch_size: {101 + n}"))
        where.kill(signal.SIGHUP)
        wait_until(lambda: where.log_text().count("registry_reloaded") > n, "a reload")
    expect_back("cancelled exports and reloads")
    where.wait_for(where.create(parameters={"last": 1}), "SUCCEEDED")
