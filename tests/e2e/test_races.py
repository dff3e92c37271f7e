"""People and recovery at the same moment: one of them wins, the answer says which, and nothing happens twice."""

import collections
import concurrent.futures
import http.client
import os
import random
import signal
import threading
import time

from harness import Provider, read_rows, wait_until

DEEP = bool(os.environ.get("WAYBILL_TEST_DEEP"))
RETRY_TASKS = 20  # in one kill
RETRY_ROUNDS = 10 if DEEP else 1  # D07: 200 repetitions
CANCEL_ROUNDS = 2000 if DEEP else 60  # D78
CALLERS = 8
FAST = {"WAYBILL_LIMITS_REQUESTS_PER_USER_PER_SECOND": "100000", "WAYBILL_LIMITS_REQUESTS_BURST": "100000",
        "WAYBILL_LANES_EXPORT_WORKERS": str(RETRY_TASKS)}


def starts(provider, task):
    """How often each version of the task asked for its first page."""
    return collections.Counter(r["body"]["dispatchVersion"] for r in list(provider.requests)
                               if r["body"]["taskId"] == task and r["body"]["cursor"] is None)


def retry_until_it_runs(where, task):
    """Asks again and again, as a nervous person would; returns how many of the answers were a yes."""
    won = 0
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            answer = where.call("POST", f"/files/export-tasks/{task}/retry")
            won += answer["code"] == "200"
            assert answer["code"] in ("200", "NOT_FAILED"), answer
            if where.detail(task)["dispatchVersion"] > 1:
                return won
        except (OSError, http.client.HTTPException):  # not there yet
            time.sleep(0.005)
    raise AssertionError(f"{task} was never retried: {where.detail(task)}")


def test_retry_beside_recovery_makes_one_version(site, provider):
    """D07: the process is killed; while the next one recovers, several people press retry in the same second."""
    provider.rows = 300
    where = site(max_attempts=1, active_per_user=200, active_per_type=200).start(environment=FAST)
    for turn in range(RETRY_ROUNDS):
        provider.hold(1)
        tasks = [where.create(parameters={"n": turn * RETRY_TASKS + n}) for n in range(RETRY_TASKS)]
        wait_until(lambda: all(starts(provider, task)[1] for task in tasks), "every task to run")
        where.kill()
        provider.release(1)
        with concurrent.futures.ThreadPoolExecutor(2 * RETRY_TASKS) as people:
            answers = [people.submit(retry_until_it_runs, where, task) for task in tasks for _ in range(2)]
            where.start(environment=FAST)
            won = [answer.result() for answer in answers]
        for n, task in enumerate(tasks):
            assert won[2 * n] + won[2 * n + 1] == 1, "exactly one of the two was told yes"
            detail = where.wait_for(task, "SUCCEEDED")
            assert (detail["dispatchVersion"], detail["attempt"]) == (2, 1)
            assert starts(provider, task) == {1: 1, 2: 1}, "one execution of each version"
        assert where.query("SELECT count(*) FROM outbox") == [(0,)]


class Aim:
    """When to cancel so that about every second cancel comes too late, however busy the machine is. Thread-safe."""

    def __init__(self, first_s):
        self.lock, self.delay_s = threading.Lock(), first_s

    def delay(self, dice):
        with self.lock:
            return self.delay_s * dice.uniform(0.7, 1.3)

    def learn(self, too_late):
        with self.lock:
            self.delay_s *= 0.8 if too_late else 1.25


def cancel_around_the_end(where, number, aim):
    task = where.create(parameters={"n": number})
    until = time.monotonic() + aim.delay(random.Random(number))
    while time.monotonic() < until:
        time.sleep(0.001)
    result = where.call("POST", f"/files/export-tasks/{task}/cancel")["data"]["result"]
    aim.learn(result == "already_finished")
    status = where.wait_for(task, "SUCCEEDED", "CANCELLED", "FAILED")["status"]
    download = where.call("GET", f"/files/export-tasks/{task}/download", raw=True)[0]
    return task, result, status, download


def test_a_cancel_is_what_its_answer_says(site, provider, tmp_path):
    """D78: cancelled around the very end. The answer is the final state, and a cancelled task has no file."""
    provider.rows = 200
    where = site(active_per_user=200, active_per_type=200).start(environment=FAST)
    began = time.monotonic()
    where.wait_for(where.create(parameters={"n": "first"}), "SUCCEEDED")
    aim = Aim(time.monotonic() - began)
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as callers:
        ended = list(callers.map(lambda n: cancel_around_the_end(where, n, aim), range(CANCEL_ROUNDS)))
    expected = {"cancelled": "CANCELLED", "cancelling": "CANCELLED", "already_finished": "SUCCEEDED"}
    for task, result, status, download in ended:
        assert status == expected[result], (task, result, status)
        assert download == (200 if status == "SUCCEEDED" else 404), (task, result, download)
    results = collections.Counter(result for _, result, _, _ in ended)
    assert results["already_finished"] and results["cancelled"] + results["cancelling"], \
        f"not around the end: {results}"
    finished = 1 + results["already_finished"]
    wait_until(lambda: len(where.visible_files()) == finished and not where.hidden_files(),
               f"{finished} files, one of each finished task")
    assert where.query("SELECT count(*) FROM outbox") == [(0,)]


def test_a_second_sigterm_ends_the_drain(site, provider, tmp_path):
    """D118: the first SIGTERM lets the export end within its grace; the second one hands it back at once."""
    provider.rows = 1000
    where = site(grace=300).start()
    provider.hold(5)
    task = where.create()
    provider.wait_for_page(5)
    where.kill(signal.SIGTERM)
    wait_until(lambda: not where.accepts(), "the drain to begin")
    assert where.process.poll() is None, "the grace is not over"
    where.kill(signal.SIGTERM)
    wait_until(lambda: where.process.poll() is not None, "the end of the process", 20)
    assert where.process.returncode == 0, where.log_text()
    assert where.query("SELECT status, dispatch_version, attempt_count FROM task") == [(0, 2, 0)]
    assert not where.hidden_files() and not where.visible_files()
    provider.release(5)
    where.start()
    assert where.wait_for(task, "SUCCEEDED", seconds=20)["attempt"] == 1
    where.download(task, tmp_path / "out.xlsx")
    assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(1000))
