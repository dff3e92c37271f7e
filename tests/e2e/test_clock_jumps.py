"""D14: the machine's clock is set by five minutes while exports run: nothing is given up, repeated or lost."""

import glob
import time

import pytest

from harness import SANITIZED, Provider, read_rows, wait_until

LIBRARIES = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
JUMP_S = 300

pytestmark = [
    pytest.mark.skipif(not LIBRARIES, reason="libfaketime is missing; ./setup --all installs it"),
    pytest.mark.skipif(SANITIZED, reason="a sanitizer's runtime must be loaded before any other library"),
]


class Clock:
    """The wall clock of the processes started with its environment; their monotonic clocks stay true."""

    def __init__(self, folder):
        self.file = folder / "clock"
        self.set(0)
        self.environment = {"LD_PRELOAD": LIBRARIES[0], "FAKETIME_TIMESTAMP_FILE": str(self.file),
                            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set(self, seconds):
        fresh = self.file.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}\n")
        fresh.rename(self.file)


@pytest.mark.parametrize("jump", [JUMP_S, -JUMP_S])
def test_a_jump_gives_up_no_running_export(site, provider, tmp_path, jump):
    provider.rows = 3000
    clock = Clock(tmp_path)
    where = site(lease_seconds=20, heartbeat_seconds=1, read_timeout=15, type_minutes=60)
    where.start(environment=clock.environment)
    provider.hold(5)
    running = [where.create(parameters={"n": n}) for n in range(4)]
    wait_until(lambda: sum(r["page"] == 5 for r in list(provider.requests)) == len(running), "all to be held")
    waiting = where.create(parameters={"n": "waits"})
    before = where.query("SELECT max(lease_until) FROM task")[0][0]
    clock.set(jump)

    def renewed():
        lease = where.query("SELECT min(lease_until) FROM task WHERE status = 1")[0][0]
        return abs(lease - before - jump * 1000) < 15_000

    wait_until(renewed, "the leases to follow the clock", 30)
    provider.release(5)
    if jump < 0:  # due when the clock that it was created by is there again, and it says so
        detail = wait_until(lambda: (d := where.detail(waiting))["waitingFor"]["code"] == "BACKOFF" and d, "a free worker")
        assert (detail["status"], detail["attempt"]) == ("PENDING", 0)
        clock.set(0)
    for task in [*running, waiting]:
        detail = where.wait_for(task, "SUCCEEDED")
        assert (detail["dispatchVersion"], detail["attempt"]) == (1, 1), "no execution was given up"
        where.download(task, tmp_path / "out.xlsx")
        assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(3000))
    clock.set(0)
    later = where.create(parameters={"n": "later"})
    assert where.wait_for(later, "SUCCEEDED")["dispatchVersion"] == 1
    assert len(where.visible_files()) == len(running) + 2
    where.stop()


def test_a_jump_between_two_processes(site, provider, tmp_path):
    """Killed, and the clock is five minutes back at the next start: recovered at once, retries keep their distance."""
    clock = Clock(tmp_path)
    where = site(lease_seconds=20, heartbeat_seconds=1, read_timeout=15, type_minutes=60)
    clock.set(JUMP_S)
    where.start(environment=clock.environment)
    provider.hold(0)
    task = where.create()
    provider.wait_for_page(0)
    where.kill()
    clock.set(0)
    began = time.monotonic()
    where.start(environment=clock.environment)
    provider.release(0)
    detail = where.wait_for(task, "SUCCEEDED", seconds=30)
    assert detail["dispatchVersion"] == 2
    assert time.monotonic() - began < 30
    where.stop()
