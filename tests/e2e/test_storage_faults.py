"""A disk that is full, too small or read-only: a transient failure with one sentence, never a short file."""

import os
import pathlib
import pwd
import shutil
import subprocess

import pytest

from harness import Provider, limit_file_size, read_rows, wait_until


def mount_tmpfs(folder, size):
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
                          capture_output=True).returncode == 0


def test_full_disk_then_room_again(site, provider, tmp_path):
    """On a full disk the execution ends as a transient error; once there is room the same task succeeds."""
    provider.rows = 20000
    disk = tmp_path / "disk"
    if not mount_tmpfs(disk, "256k"):
        pytest.skip("mounting a tmpfs is refused here; the file-size limit below covers the same path")
    try:
        where = site(files_path=disk / "files", backoff=[1, 1], max_attempts=5).start()
        task = where.create()
        detail = wait_until(lambda: (d := where.detail(task))["failure"] and d["status"] == "PENDING" and d,
                            "a transient failure")
        assert "space" in detail["failure"]["message"].lower() or "storage" in detail["failure"]["message"].lower()
        assert not where.visible_files()
        assert subprocess.run(["mount", "-o", "remount,size=64m", str(disk)]).returncode == 0
        detail = where.wait_for(task, "SUCCEEDED")
        where.download(task, tmp_path / "out.xlsx")
        assert list(read_rows(tmp_path / "out.xlsx")) == list(Provider.expected(20000))
        assert len(where.visible_files()) == 1 and not where.hidden_files()
        where.stop()
    finally:
        subprocess.run(["umount", "-l", str(disk)])


def test_too_little_space_costs_no_attempt(site, provider):
    """Below files.min_free_mib an export does not begin: nothing is counted, and its user reads why it waits."""
    where = site(max_attempts=1).start(environment={"WAYBILL_FILES_MIN_FREE_MIB": "1000000"})
    task = where.create()
    detail = wait_until(lambda: (d := where.detail(task))["failure"] and d, "the refusal to begin")
    assert (detail["status"], detail["attempt"], detail["waitingFor"]["code"]) == ("PENDING", 0, "BACKOFF")
    assert "too little free space" in detail["failure"]["message"]
    assert detail["failure"]["retryAt"] == detail["waitingFor"]["until"]
    assert not provider.requests, "nobody is asked for rows that cannot be stored"
    where.stop()
    where.make_due()
    where.start()
    assert where.wait_for(task, "SUCCEEDED")["attempt"] == 1


def test_file_size_limit_of_the_process(site, provider):
    """RLIMIT_FSIZE stands for a disk that refuses a write in the middle of a file."""
    provider.rows = 40000
    where = site(max_attempts=1, batch_size=1000).start(preexec=limit_file_size(400_000))
    task = where.create()
    detail = where.wait_for(task, "FAILED")
    assert "\n" not in detail["failure"]["message"]
    assert detail["failure"]["class"] == "SYSTEM"
    wait_until(lambda: not where.hidden_files() and not where.visible_files(), "no file to remain")


def test_max_file_size_stops_while_writing(site, provider):
    provider.rows = 200_000
    where = site(max_file_mib=1, batch_size=1000).start()
    task = where.create()
    detail = where.wait_for(task, "FAILED")
    assert detail["failure"]["class"] == "LIMIT" and detail["attempt"] == 1
    assert "1 MiB" in detail["failure"]["message"]
    assert len(provider.requests) < 190, "stopped while writing, not at the end"
    wait_until(lambda: not where.hidden_files() and not where.visible_files(), "no file to remain")


def as_nobody():
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become an unprivileged user")
def test_read_only_folder(site, provider, tmp_path):
    """Root ignores modes, so the server runs as an unprivileged user."""
    for folder in [tmp_path, *tmp_path.parents]:
        if folder == pathlib.Path("/tmp") or folder == pathlib.Path("/"):
            break
        folder.chmod(0o755)
    where = site(max_attempts=1)
    nobody = pwd.getpwnam("nobody")
    for path in [where.folder, *where.folder.rglob("*")]:
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    binary = shutil.copy(where.command()[0], tmp_path / "waybill")
    os.chmod(binary, 0o755)
    where.command = lambda *arguments: [str(binary), *arguments]
    where.start(preexec=as_nobody)
    task = where.create()
    where.wait_for(task, "SUCCEEDED")
    for path in [where.files, *[p for p in where.files.rglob("*") if p.is_dir()]]:
        os.chmod(path, 0o555)
    task = where.create(parameters={"again": True})
    detail = where.wait_for(task, "FAILED")
    assert "\n" not in detail["failure"]["message"]
    assert detail["failure"]["class"] == "SYSTEM"
    assert "permission" in where.log_text().lower() or "read-only" in where.log_text().lower()
    for path in [where.files, *[p for p in where.files.rglob("*") if p.is_dir()]]:
        os.chmod(path, 0o755)
    answer = where.call("POST", f"/files/export-tasks/{task}/retry")
    assert answer["code"] == "200", answer
    where.wait_for(task, "SUCCEEDED")
