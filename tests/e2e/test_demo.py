"""What a newcomer does: start the demo, export from a second terminal, open the file."""

import json
import os
import pathlib
import re
import signal
import stat
import subprocess

import openpyxl
import pytest
from python_calamine import CalamineWorkbook

from harness import BINARY, wait_until


class Demo:
    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen([str(BINARY), "demo", "--port", "0", "--data", str(folder)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        self.url = json.loads((folder / "demo.json").read_text())["url"]
        self.environment = dict(os.environ, WAYBILL_DATA=str(folder))

    def run(self, *arguments, cwd=None, environment=None, timeout=120):
        return subprocess.run([str(BINARY), *arguments], capture_output=True, text=True, cwd=cwd,
                              env=environment or self.environment, timeout=timeout)

    def create(self, kind, *arguments, **keywords):
        return self.run("export", "create", "--type", kind, *arguments, **keywords)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        output, errors = self.process.communicate(timeout=30)
        return self.line + output, errors


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    made = Demo(tmp_path_factory.mktemp("demo") / "data")
    yield made
    output, errors = made.close()
    assert made.process.returncode == 0
    assert output.count("\n") == 1, f"exactly one line on stdout: {output}"


def test_prints_one_line_and_keeps_its_secrets(demo):
    assert re.fullmatch(r"Waybill is ready: http://127\.0\.0\.1:\d+\n", demo.line)
    assert demo.line.split()[-1] == demo.url
    tokens = sorted((demo.folder / "tokens").glob("*.jwt"))
    assert len(tokens) == 4
    for token in tokens:
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
    described = json.loads((demo.folder / "demo.json").read_text())
    assert set(described) >= {"url", "managementUrl", "providerUrl"}


def test_the_readmes_command(demo, tmp_path):
    done = demo.create("CUSTOMER_LIST", "--watch", "--output", "customers.xlsx", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "200,000" in done.stderr + done.stdout or "200000" in done.stderr + done.stdout
    sheet = CalamineWorkbook.from_path(str(tmp_path / "customers.xlsx")).get_sheet_by_index(0).to_python()
    assert len(sheet) == 200_001
    assert len(sheet[0]) == 12
    book = openpyxl.load_workbook(tmp_path / "customers.xlsx", read_only=True)
    rows = book.worksheets[0].iter_rows(min_row=2, max_row=200, values_only=True)
    kinds = {type(value).__name__ for row in rows for value in row}
    assert {"str", "int", "float", "bool", "datetime"} <= kinds
    text = "".join(str(value) for row in sheet[1:200] for value in row)
    assert re.search("[\u4e00-\u9fff]", text) and re.search("[A-Za-z]", text)


def test_json_and_pipes(demo, tmp_path):
    done = demo.create("ORDER_LIST", "--param", "rows=1000", "--watch", "--json", "--output", "o.xlsx", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["status"] == "SUCCEEDED" and lines[-1]["exportType"] == "ORDER_LIST"
    task = lines[-1]["id"]
    shown = demo.run("export", "show", task, "--json")
    assert json.loads(shown.stdout)["receipt"]
    listed = json.loads(demo.run("export", "list", "--json").stdout)
    assert task in [item["id"] for item in listed["items"]]
    types = json.loads(demo.run("export", "types", "--json").stdout)
    assert {"CUSTOMER_LIST", "ORDER_LIST", "SLOW_REPORT", "FLAKY_REPORT", "BROKEN_REPORT"} == \
        {item["exportType"] for item in (types["items"] if isinstance(types, dict) else types)}, "enabled ones only"
    again = demo.run("export", "download", task, "--output", "again.xlsx", cwd=tmp_path)
    assert again.returncode == 0
    assert (tmp_path / "again.xlsx").read_bytes() == (tmp_path / "o.xlsx").read_bytes()


def test_flaky_succeeds_after_retries(demo, tmp_path):
    done = demo.create("FLAKY_REPORT", "--watch", "--json", "--output", "f.xlsx", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout.splitlines()[-1])
    assert ended["status"] == "SUCCEEDED" and ended["attempt"] >= 2
    assert len(ended["attempts"]) == ended["attempt"]
    assert all(earlier["message"] for earlier in ended["attempts"][:-1]), "why it was tried again"
    assert (tmp_path / "f.xlsx").stat().st_size == ended["receipt"]["sizeBytes"]


EXIT_CODES = [
    ("failed", 8, ["export", "create", "--type", "BROKEN_REPORT", "--watch"]),
    ("disabled type", 4, ["export", "create", "--type", "DISABLED_REPORT"]),
    ("unknown type", 6, ["export", "create", "--type", "NO_SUCH_TYPE"]),
    ("unknown task", 5, ["export", "show", "123456789"]),
    ("usage", 2, ["export", "create"]),
    ("unknown option", 2, ["export", "list", "--nonsense"]),
    ("unreachable", 3, ["export", "list", "--url", "http://127.0.0.1:9"]),
    ("bad token", 4, ["export", "list", "--token", "nonsense"]),
    ("invalid", 6, ["export", "create", "--type", "ORDER_LIST", "--param", "rows=99999999"]),
    ("local file", 11, ["export", "create", "--type", "ORDER_LIST", "--param", "rows=10", "--watch", "--output",
                        "/nonexistent/folder/x.xlsx"]),
]


@pytest.mark.parametrize("name,code,arguments", EXIT_CODES, ids=[e[0] for e in EXIT_CODES])
def test_every_failure_has_its_exit_code_and_one_clear_line(demo, name, code, arguments):
    done = demo.run(*arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stdout == "", "stdout is for results"
    lines = done.stderr.splitlines()
    assert lines and lines[-1].startswith("waybill: "), done.stderr
    assert sum(line.startswith("waybill: ") for line in lines) == 1, done.stderr
    if "--watch" not in arguments:
        assert len(lines) == 1, done.stderr


def test_cancel_and_retry(demo):
    created = json.loads(demo.create("SLOW_REPORT", "--json").stdout)
    cancelled = demo.run("export", "cancel", created["id"], "--json")
    assert cancelled.returncode == 0
    assert json.loads(cancelled.stdout)["result"] in ("cancelled", "cancelling")
    wait_until(lambda: json.loads(demo.run("export", "show", created["id"], "--json").stdout)["status"] == "CANCELLED",
               "the slow report to stop")
    watched = demo.run("export", "retry", created["id"])
    assert watched.returncode == 7, "only a failed task can be retried"
    broken = json.loads(demo.create("BROKEN_REPORT", "--watch", "--json").stdout.splitlines()[-1])
    assert broken["status"] == "FAILED"
    assert demo.run("export", "retry", broken["id"]).returncode == 0


def test_interrupted_watch_exits_130_and_leaves_the_task(demo):
    process = subprocess.Popen([str(BINARY), "export", "create", "--type", "SLOW_REPORT", "--watch", "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=demo.environment)
    task = json.loads(process.stdout.readline())["id"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(demo.run("export", "show", task, "--json").stdout)["status"] in ("PENDING", "RUNNING", "SUCCEEDED")
    demo.run("export", "cancel", task)


def test_restart_of_the_demo_keeps_its_tasks(tmp_path):
    first = Demo(tmp_path / "data")
    created = first.create("ORDER_LIST", "--param", "rows=100", "--watch", "--json", "--output", "a.xlsx", cwd=tmp_path)
    assert created.returncode == 0, created.stderr
    task = json.loads(created.stdout.splitlines()[-1])["id"]
    first.close()
    second = Demo(tmp_path / "data")
    try:
        assert json.loads(second.run("export", "show", task, "--json").stdout)["status"] == "SUCCEEDED"
    finally:
        second.close()
