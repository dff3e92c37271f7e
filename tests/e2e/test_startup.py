"""What can be wrong at start: the process says one readable line, exits non-zero, and changes nothing."""

import shutil
import signal
import socket
import sqlite3
import subprocess

from harness import wait_until


# Of src/app/cli/exit_code.h.
INTERNAL, USAGE, CONFLICT, LOCAL_FILE = 1, 2, 7, 11


def contents(site):
    """Every file of the site but its logs and the lock, and what is in it."""
    return {str(p.relative_to(site.folder)): p.read_bytes() for p in sorted(site.folder.rglob("*"))
            if p.is_file() and not p.name.startswith("log.") and p.name != "waybill.lock"}


def used(site):
    """A site that has already served: its database and its folder exist."""
    where = site().start()
    where.wait_for(where.create(), "SUCCEEDED")
    where.stop()
    return where


def refuses(site, code, *needles):
    """Ends by itself with `code`, one line on the terminal that holds every needle, and no file changed.

    The folder of the test is cut from the line first: it is made of the test's own name, where a needle could hide.
    """
    before = contents(site)
    site.start(wait=False)
    ended = site.process.wait(30)
    text = site.log_text()
    assert ended == code, f"ended with {ended}, not {code}: {text}"
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("{")]
    assert len(lines) == 1, f"one readable line, not: {text}"
    assert lines[0].startswith("waybill: "), lines[0]
    said = lines[0].replace(str(site.folder.parent), "").lower()
    for needle in needles:
        assert needle.lower() in said, f"'{needle}' is missing in: {said}"
    after = contents(site)
    assert [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)] == [], "it changed something"


def test_port_in_use(site):
    where = used(site)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", where.port))
        taken.listen()
        refuses(where, CONFLICT, f"port {where.port} is in use")


def test_second_process_on_the_same_file(site):
    where = site().start()
    second = site()
    second.database = where.database
    second.write_config()
    refuses(second, CONFLICT, "/waybill.db is already served by process " + str(where.process.pid))
    assert where.ready(), "the first goes on"


def test_broken_yaml_names_file_and_line(site):
    where = site()
    where.config.write_text("server:\n  listen: [127.0.0.1\nx: {\n")
    refuses(where, USAGE, "/waybill.yaml", "line 3")


def test_unknown_key_names_its_path(site):
    where = site()
    where.config.write_text(where.config.read_text() + "publisher:\n  bacth: 5\n")
    line = where.config.read_text().count("\n")
    refuses(where, USAGE, f"/waybill.yaml:{line}: publisher.bacth: unknown key")


def test_impossible_combination(site):
    where = site(lease_seconds=10, heartbeat_seconds=5)
    refuses(where, USAGE, "/waybill.yaml:", "dispatch.heartbeat_seconds", "dispatch.lease_seconds")


def test_broken_registry_names_entry(site):
    where = used(site)
    where.registry.write_text(where.registry.read_text().replace("batch_size: 100", "batch_size: 5000"))
    refuses(where, USAGE, "/registry.yaml:11: definitions.TEST_LIST.batch_size", "50 to 1000", '"5000"')


def test_service_outside_the_list(site):
    where = used(site)
    where.registry.write_text(where.registry.read_text().replace("provider_service: test-service",
                                                                 "provider_service: evil-service"))
    refuses(where, USAGE, "/registry.yaml:4: definitions.TEST_LIST.provider_service", "evil-service")


def test_missing_guard_row(site):
    where = used(site)
    connection = sqlite3.connect(where.database)
    connection.execute("DELETE FROM create_guard WHERE scope = 'GLOBAL_CREATE'")
    connection.commit()
    connection.close()
    refuses(where, INTERNAL, "GLOBAL_CREATE", "create_guard", "waybill migrate")
    connection = sqlite3.connect(where.database)
    assert connection.execute("SELECT count(*) FROM create_guard WHERE scope = 'GLOBAL_CREATE'").fetchone() == (0,)
    connection.close()
    migrated = subprocess.run(where.command("migrate", "--config", str(where.config)), capture_output=True, text=True)
    assert migrated.returncode == 0 and "there again: 1" in migrated.stdout, migrated.stdout + migrated.stderr
    where.start()
    where.wait_for(where.create(parameters={"again": 1}), "SUCCEEDED")


def test_newer_schema_is_refused(site):
    where = used(site)
    connection = sqlite3.connect(where.database)
    table = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%migration%'")][0]
    columns = [r[1] for r in connection.execute(f"PRAGMA table_info({table})")]
    top = connection.execute(f"SELECT * FROM {table} ORDER BY 1 DESC LIMIT 1").fetchone()
    connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(columns))})", (top[0] + 1000, *top[1:]))
    connection.commit()
    connection.close()
    refuses(where, CONFLICT, str(top[0] + 1000), "newer than this program")


def test_missing_configuration_file(site):
    where = site()
    where.config.unlink()
    refuses(where, USAGE, "/waybill.yaml", "No such file")


def test_files_folder_is_a_file(site):
    where = used(site)
    shutil.rmtree(where.files)
    where.files.write_text("x")
    refuses(where, LOCAL_FILE, "files.directory.path", "/files is not a folder")


def test_registry_reload_keeps_the_old_one_on_errors(site, provider):
    where = site().start()
    good = where.registry.read_text()
    where.registry.write_text(good.replace("batch_size: 100", "batch_size: 5000"))
    where.kill(signal.SIGHUP)
    wait_until(lambda: "batch_size" in where.log_text(), "the reload's error in the log")
    where.wait_for(where.create(), "SUCCEEDED")
    where.registry.write_text(good.replace("batch_size: 100", "batch_size: 50"))
    where.kill(signal.SIGHUP)
    def new_page_size():
        provider.requests.clear()
        where.wait_for(where.create(parameters={"n": len(where.query("SELECT 1 FROM task"))}), "SUCCEEDED")
        return provider.requests[0]["body"]["limit"] == 50
    wait_until(new_page_size, "the new batch size", 30)


def test_removed_type_waits_and_can_be_cancelled(site, provider):
    """What runs ends by the registry it began with; what waits says why, and can be taken back."""
    workers = 4  # of a lane, by default
    where = site().start()
    provider.hold(0)
    running = [where.create(parameters={"n": n}) for n in range(workers)]
    wait_until(lambda: len(provider.requests) == workers, "every worker to be held")
    waiting = [where.create(parameters={"n": n}) for n in range(90, 92)]
    where.registry.write_text(where.registry.read_text().replace("TEST_LIST", "OTHER_LIST"))
    where.kill(signal.SIGHUP)
    wait_until(lambda: where.call("POST", "/files/export-tasks", {
        "exportType": "TEST_LIST", "format": "XLSX", "taskName": "t", "parameters": {"n": 200}})["code"] != "200",
        "the new registry")
    provider.release(0)
    for task in running:
        assert where.wait_for(task, "SUCCEEDED", "FAILED", "CANCELLED")["status"] == "SUCCEEDED"
    for task in waiting:
        detail = wait_until(lambda: (d := where.detail(task))["waitingFor"] and
                            d["waitingFor"]["code"] == "UNKNOWN_TYPE" and d, "waiting for an unknown type")
        assert (detail["status"], detail["attempt"]) == ("PENDING", 0)
        assert where.call("POST", f"/files/export-tasks/{task}/cancel")["data"]["result"] == "cancelled"
        assert where.detail(task)["status"] == "CANCELLED"
    assert {r["body"]["taskId"] for r in provider.requests} == set(running), "nothing else was ever executed"


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.name.startswith("log."))


def test_a_refused_first_start_leaves_nothing(site):
    """No database, no lock, no marker in the storage: the next start finds what the first one found."""
    where = site()
    good = {where.config: where.config.read_text(), where.registry: where.registry.read_text()}
    before = everything(where.folder)

    def refused(code, *needles):
        refuses(where, code, *needles)
        assert everything(where.folder) == before

    for port in (where.port, where.management_port):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            taken.listen()
            refused(CONFLICT, f"port {port} is in use")
    where.registry.write_text(good[where.registry].replace("batch_size: 100", "batch_size: 5000"))
    refused(USAGE, "batch_size")
    where.registry.write_text(good[where.registry].replace("lane: export", "lane: elsewhere"))
    refused(USAGE, "the lane elsewhere is not configured")
    where.registry.write_text(good[where.registry])
    where.config.write_text(good[where.config].replace("base_url: http://127", "base_url: ftp://127"))
    refused(USAGE, "base_url")
    where.config.write_text(good[where.config])
    where.files.rmdir()
    before = everything(where.folder)
    refused(LOCAL_FILE, "files.directory.path")
    where.files.mkdir()
    where.start()
    where.wait_for(where.create(), "SUCCEEDED")


def test_a_refused_demo_leaves_no_folder(tmp_path):
    from harness import BINARY
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        demo = subprocess.run([str(BINARY), "demo", "--port", port, "--data", str(tmp_path / "demo")],
                              capture_output=True, text=True, timeout=30)
    assert demo.returncode == CONFLICT, demo.stderr
    assert f"port {port} is in use" in demo.stderr and len(demo.stderr.splitlines()) == 1
    assert not (tmp_path / "demo").exists()


def test_version_and_help_say_something():
    from harness import BINARY
    help_text = subprocess.run([str(BINARY), "--help"], capture_output=True, text=True)
    assert help_text.returncode == 0 and "export" in help_text.stdout and "demo" in help_text.stdout
    assert subprocess.run([str(BINARY), "--version"], capture_output=True, text=True).returncode == 0
    for word, needle in (("exprot", "did you mean \"waybill export\"?"), ("--nonsense", "\"--nonsense\"")):
        wrong = subprocess.run([str(BINARY), word], capture_output=True, text=True)
        assert wrong.returncode == USAGE and needle in wrong.stderr and len(wrong.stderr.splitlines()) == 1
