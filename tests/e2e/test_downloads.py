"""Downloads survive the server's death: the client resumes, and what it gets is the file and nothing else."""

import hashlib
import signal
import subprocess

import pytest

from harness import PREFIX, Provider, Site, token, wait_until

RATE = "5M"  # bytes/s of the slow client, so that a kill falls into the middle


def noise(i):
    """Text that does not compress: the file must not fit into the sockets between server and client."""
    return "".join(hashlib.sha512(f"{i} {part}".encode()).hexdigest() for part in range(4))


def fetch(where, task, to, *options):
    return subprocess.Popen(["curl", "--silent", "--show-error", "--fail", "--http1.1", *options, "--output", str(to),
                             "--header", f"Authorization: Bearer {token()}",
                             f"http://127.0.0.1:{where.port}{PREFIX}/files/export-tasks/{task}/download"],
                            stderr=subprocess.PIPE, text=True)


def hurried_stop(where):
    """One SIGTERM lets a download in flight end; the second cuts it."""
    where.kill(signal.SIGTERM)
    wait_until(lambda: not where.accepts(), "the stop to begin")
    where.kill(signal.SIGTERM)
    where.process.wait(30)


@pytest.mark.parametrize("end", [Site.kill, hurried_stop])
def test_a_client_resumes_after_the_server_died(site, provider, tmp_path, end):
    """Cut twice: once without a Range, once within the resumed one. The third try has the whole file."""
    provider.rows = 60000
    provider.row = lambda i: {**Provider.row(i), "name": noise(i)}
    where = site(batch_size=1000).start()
    task = where.create()
    detail = where.wait_for(task, "SUCCEEDED")
    size, sha256 = detail["file"]["size"], detail["file"]["sha256"]
    assert size > 15_000_000, "more than the sockets between the two take in"
    to = tmp_path / "out.xlsx"

    def reached(bytes_):
        return lambda: to.exists() and to.stat().st_size > bytes_

    for options, cut_at in (((), size // 8), (("--continue-at", "-"), size // 4)):
        client = fetch(where, task, to, "--limit-rate", RATE, *options)
        wait_until(reached(cut_at), f"{cut_at} of {size} bytes", every=0.002)
        end(where)
        _, said = client.communicate(timeout=60)
        assert client.returncode != 0, "a cut transfer never looks whole"
        assert cut_at < to.stat().st_size < size, said
        where.start()
    client = fetch(where, task, to, "--continue-at", "-")
    _, said = client.communicate(timeout=60)
    assert client.returncode == 0, said
    assert hashlib.sha256(to.read_bytes()).hexdigest() == sha256  # X106: the package and nothing else


def test_parts_fetched_across_restarts_are_the_file(site, provider):
    """D95: every part from another process: the ETag stays, so the parts belong together."""
    provider.rows = 20000
    where = site(batch_size=1000).start()
    task = where.create()
    detail = where.wait_for(task, "SUCCEEDED")
    size = detail["file"]["size"]
    step = size // 3 + 1
    parts, tags = [], set()
    for first in range(0, size, step):
        asked = {"Range": f"bytes={first}-{first + step - 1}"}
        if tags:
            asked["If-Range"] = next(iter(tags))
        status, headers, content = where.call("GET", f"/files/export-tasks/{task}/download", headers=asked, raw=True)
        assert status == 206 and headers["Content-Range"] == f"bytes {first}-{first + len(content) - 1}/{size}"
        parts.append(content)
        tags.add(headers["ETag"])
        where.kill()
        where.start()
    assert tags == {f'"{detail["file"]["sha256"]}"'}
    assert hashlib.sha256(b"".join(parts)).hexdigest() == detail["file"]["sha256"]
