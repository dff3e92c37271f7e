"""What can be wrong at start: the process says one readable line, exits non-zero, and changes nothing."""

import socket
import sqlite3
import subprocess

from harness import wait_until


def refuses(site, *needles):
    site.start(wait=False)
    code = site.process.wait(30)
    text = site.log_text()
    assert code not in (0, -6, -11), f"ended with {code}: {text}"
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("{")]
    assert len(lines) == 1, f"one readable line, not: {text}"
    for needle in needles:
        assert needle.lower() in lines[0].lower(), f"'{needle}' is missing in: {lines[0]}"
    return code


def test_port_in_use(site):
    where = site()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", where.port))
        taken.listen()
        refuses(where, str(where.port), "in use")


def test_second_process_on_the_same_file(site):
    where = site().start()
    second = site()
    second.database = where.database
    second.write_config()
    refuses(second, "waybill.db", str(where.process.pid))
    assert where.ready(), "the first goes on"


def test_broken_yaml_names_file_and_line(site):
    where = site()
    where.config.write_text("server:\n  listen: [127.0.0.1\nx: {\n")
    refuses(where, "waybill.yaml", "line")


def test_unknown_key_names_its_path(site):
    where = site()
    where.config.write_text(where.config.read_text() + "publisher:\n  bacth: 5\n")
    refuses(where, "publisher.bacth")


def test_impossible_combination(site):
    where = site(lease_seconds=10, heartbeat_seconds=5)
    refuses(where, "heartbeat")


def test_broken_registry_names_entry(site):
    where = site()
    where.registry.write_text(where.registry.read_text().replace("batch_size: 100", "batch_size: 5000"))
    refuses(where, "TEST_LIST", "batch_size", "1000")


def test_service_outside_the_list(site):
    where = site()
    where.registry.write_text(where.registry.read_text().replace("provider_service: test-service",
                                                                 "provider_service: evil-service"))
    refuses(where, "TEST_LIST", "evil-service")


def test_missing_guard_row(site):
    where = site().start()
    where.stop()
    connection = sqlite3.connect(where.database)
    connection.execute("DELETE FROM create_guard WHERE scope = 'GLOBAL_CREATE'")
    connection.commit()
    connection.close()
    refuses(where, "GLOBAL_CREATE")
    connection = sqlite3.connect(where.database)
    assert connection.execute("SELECT count(*) FROM create_guard WHERE scope = 'GLOBAL_CREATE'").fetchone() == (0,)


def test_newer_schema_is_refused(site):
    where = site().start()
    where.stop()
    connection = sqlite3.connect(where.database)
    table = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%migration%'")][0]
    columns = [r[1] for r in connection.execute(f"PRAGMA table_info({table})")]
    top = connection.execute(f"SELECT * FROM {table} ORDER BY 1 DESC LIMIT 1").fetchone()
    connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(columns))})", (top[0] + 1000, *top[1:]))
    connection.commit()
    connection.close()
    refuses(where, "newer")


def test_missing_configuration_file(site):
    where = site()
    where.config.unlink()
    refuses(where, "waybill.yaml")


def test_files_folder_is_a_file(site):
    where = site()
    where.files.rmdir()
    where.files.write_text("x")
    refuses(where, "files")


def test_registry_reload_keeps_the_old_one_on_errors(site, provider):
    import signal
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
    import signal
    where = site().start()
    provider.hold(0)
    blockers = [where.create(parameters={"n": n}) for n in range(5)]
    waiting = where.create(parameters={"n": 99})
    other = where.registry.read_text().replace("TEST_LIST", "OTHER_LIST")
    where.registry.write_text(other)
    where.kill(signal.SIGHUP)
    provider.release(0)
    for task in blockers[:4]:
        where.wait_for(task, "SUCCEEDED", "PENDING")
    detail = wait_until(lambda: (d := where.detail(waiting))["waitingFor"] and
                        d["waitingFor"]["code"] == "UNKNOWN_TYPE" and d, "waiting for an unknown type")
    assert detail["status"] == "PENDING"
    assert where.call("POST", f"/files/export-tasks/{waiting}/cancel")["data"]["result"] == "cancelled"


def test_version_and_help_say_something():
    from harness import BINARY
    help_text = subprocess.run([str(BINARY), "--help"], capture_output=True, text=True)
    assert help_text.returncode == 0 and "export" in help_text.stdout and "demo" in help_text.stdout
    assert subprocess.run([str(BINARY), "--version"], capture_output=True, text=True).returncode == 0
    wrong = subprocess.run([str(BINARY), "exprot"], capture_output=True, text=True)
    assert wrong.returncode == 2
