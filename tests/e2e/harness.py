"""Runs the real binary against a provider of our own. Standard library only.

Waiting: every wait polls a condition with a deadline; nothing sleeps a fixed time and hopes.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import resource
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build/release"))
BINARY = BUILD / "waybill"
SANITIZED = BUILD.name in ("asan", "tsan")
SECRET = "an end-to-end test secret of enough length 0123456789"
SERVICE_TOKEN = "service-token-of-the-tests"
PREFIX = "/api/platform/v1"
WAIT_S = 60


def wait_until(condition, what, seconds=WAIT_S, every=0.01):
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for: {what}")
        time.sleep(every)


GIVEN_PORTS = set()


def free_port():
    """One that nobody has now and that was not given before: a port is free again until its server starts."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        if port not in GIVEN_PORTS:
            GIVEN_PORTS.add(port)
            return port


def token(user="alice", tenant="t1", app="shop", permissions=None):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    if permissions is None:
        permissions = ["platform:download:list", "platform:test:export"]
    claims = {"sub": user, "tenant": tenant, "app": app, "domain": "PLATFORM", "permissions": permissions,
              "exp": int(time.time()) + 3600}
    head = part({"alg": "HS256", "typ": "JWT"}) + b"." + part(claims)
    sign = hmac.new(SECRET.encode(), head, hashlib.sha256).digest()
    return (head + b"." + base64.urlsafe_b64encode(sign).rstrip(b"=")).decode()


class Provider:
    """A provider whose every answer a test can shape.

    `script` maps a page number (0-based, per execution) to a function(handler, page, body) that answers itself;
    pages without an entry are answered properly. `gate` lets a test hold page n until it says go.
    """

    COLUMNS = [
        {"key": "id", "title": "Id", "type": "INTEGER", "width": 12},
        {"key": "name", "title": "Name", "type": "STRING", "width": 20},
        {"key": "amount", "title": "Amount", "type": "DECIMAL", "width": 12},
        {"key": "paid", "title": "Paid", "type": "BOOLEAN", "width": 8},
        {"key": "day", "title": "Day", "type": "DATE", "width": 12},
    ]

    def __init__(self, rows=2000, page_size=None):
        self.rows = rows
        self.requests = []
        self.script = {}
        self.held = {}
        self.lock = threading.Lock()
        self.pages_seen = {}
        self.arrived = threading.Condition(self.lock)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *arguments):
                pass

            def do_POST(self):
                try:
                    outer.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        with self.lock:
            for event in self.held.values():
                event.set()
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def row(i):
        return {"id": str(i), "name": f"客户 {i} <&>", "amount": f"{i}.25", "paid": i % 2 == 0,
                "day": f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}"}

    @classmethod
    def expected(cls, count):
        import datetime
        for i in range(1, count + 1):
            yield (i, f"客户 {i} <&>", float(f"{i}.25"), i % 2 == 0,
                   datetime.datetime(2026, i % 12 + 1, i % 28 + 1))

    def hold(self, page):
        """Page `page` of every execution waits until release(page)."""
        with self.lock:
            self.held[page] = threading.Event()

    def release(self, page):
        with self.lock:
            event = self.held.pop(page)
        event.set()

    def wait_for_page(self, page, seconds=WAIT_S):
        with self.arrived:
            assert self.arrived.wait_for(lambda: any(r["page"] >= page for r in self.requests), seconds), \
                f"page {page} was never asked for"

    def page_body(self, body, **changes):
        after = int(body["cursor"] or 0)
        last = min(self.rows, after + body["limit"])
        data = {"schemaVersion": 1, "schemaHash": "h1", "snapshotToken": "snap-1", "columns": self.COLUMNS,
                "rows": [self.row(i) for i in range(after + 1, last + 1)],
                "nextCursor": str(last) if last < self.rows else None, "hasMore": last < self.rows,
                "totalRows": self.rows}
        data.update(changes)
        return {"code": "200", "message": "ok", "data": data}

    def answer(self, handler):
        length = int(handler.headers.get("Content-Length", 0))
        body = json.loads(handler.rfile.read(length))
        key = (body["taskId"], body["dispatchVersion"])
        with self.arrived:
            if body["cursor"] is None and self.pages_seen.get(key, 0) > 0 and body.get("snapshotToken") is None:
                page = 0  # a local retry of the first page
            else:
                page = self.pages_seen.get(key, 0)
            self.requests.append({"page": page, "body": body, "headers": dict(handler.headers), "at": time.monotonic()})
            held = self.held.get(page)
            script = self.script.get(page) or self.script.get("*")
            self.arrived.notify_all()
        if handler.headers.get("X-Internal-Service-Token") != SERVICE_TOKEN:
            return self.send(handler, 401, {"code": "401", "message": "who are you"})
        if held:
            held.wait(WAIT_S * 2)
        if script and script(handler, page, body) is not False:
            return None
        with self.lock:
            self.pages_seen[key] = page + 1
        return self.send(handler, 200, self.page_body(body))

    @staticmethod
    def send(handler, status, value, headers=()):
        raw = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(raw)))
        for name, text in headers:
            handler.send_header(name, text)
        handler.end_headers()
        handler.wfile.write(raw)


class Site:
    """One data folder and the processes that serve it, one after the other."""

    def __init__(self, folder, provider_port, **settings):
        self.folder = pathlib.Path(folder)
        self.files = pathlib.Path(settings.pop("files_path", self.folder / "files"))
        self.database = self.folder / "waybill.db"
        self.config = self.folder / "waybill.yaml"
        self.registry = self.folder / "registry.yaml"
        self.provider_port = provider_port
        self.port = free_port()
        self.management_port = free_port()
        self.process = None
        self.starts = 0
        self.settings = {"lease_seconds": 30, "heartbeat_seconds": 5, "backoff": [0.3, 0.3], "page_retry": [0.05, 0.05, 0.05],
                         "read_timeout": 5, "max_minutes": 5, "max_file_mib": 50, "max_rows": 200000, "batch_size": 100,
                         "grace": 2, "active_per_user": 50, "active_per_type": 50, "max_attempts": 3,
                         "reconciler_period": 0.3}
        self.settings.update(settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.files.mkdir(parents=True, exist_ok=True)
        (self.folder / "secret").write_text(SECRET)
        (self.folder / "service-token").write_text(SERVICE_TOKEN)
        for name in ("secret", "service-token"):
            (self.folder / name).chmod(0o600)
        self.write_registry()
        self.write_config()

    def write_registry(self, extra=""):
        s = self.settings
        self.registry.write_text(f"""definitions:
  TEST_LIST:
    title: {{zh: 测试, en: Test}}
    provider_service: test-service
    provider_path: /internal/exports/v1/TEST_LIST/batches
    required_permission: platform:test:export
    app_scope: PLATFORM
    enabled: true
    max_rows: {s['max_rows']}
    max_attempts: {s['max_attempts']}
    batch_size: {s['batch_size']}
    lane: export
    priority: P2
    max_duration_minutes: {s.get('type_minutes', 5)}
    retention_hours: 168
    max_file_mib: {s['max_file_mib']}
{extra}""")

    def write_config(self, extra=""):
        s = self.settings
        self.config.write_text(f"""server:
  listen: 127.0.0.1:{self.port}
management:
  listen: 127.0.0.1:{self.management_port}
database:
  url: sqlite:{self.database}
files:
  directory:
    path: {self.files}
registry:
  file: {self.registry}
provider_services:
  test-service:
    base_url: http://127.0.0.1:{self.provider_port}
    token_file: {self.folder}/service-token
auth:
  mode: jwt
  jwt:
    algorithm: HS256
    secret_file: {self.folder}/secret
    claims:
      user: sub
      tenant: tenant
      app_code: app
      access_domain: domain
      permissions: permissions
limits:
  active_per_user: {s['active_per_user']}
  active_per_type: {s['active_per_type']}
dispatch:
  lease_seconds: {s['lease_seconds']}
  heartbeat_seconds: {s['heartbeat_seconds']}
  retry_backoff_seconds: {s['backoff']}
reconciler:
  period_seconds: {s['reconciler_period']}
export:
  page_retry_seconds: {s['page_retry']}
  read_timeout_seconds: {s['read_timeout']}
shutdown:
  grace_seconds: {s['grace']}
{extra}""")

    def command(self, *arguments):
        return [str(BINARY), *arguments]

    def start(self, wait=True, preexec=None, environment=None):
        self.starts += 1
        self.log = open(self.folder / f"log.{self.starts}", "wb")
        self.process = subprocess.Popen(self.command("serve", "--config", str(self.config)), stdout=self.log,
                                        stderr=self.log, stdin=subprocess.DEVNULL, preexec_fn=preexec,
                                        env={**os.environ, **(environment or {})})
        if wait:
            wait_until(self.ready, f"readiness (log: {self.log_text()[-3000:]})")
        return self

    def ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}: {self.log_text()[-3000:]}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.management_port, timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def accepts(self):
        """Whether somebody answers on the API's port."""
        try:
            self.call("GET", "/files/export-types")
            return True
        except (OSError, http.client.HTTPException):
            return False

    def log_text(self):
        return (self.folder / f"log.{self.starts}").read_text(errors="replace")

    def kill(self, sig=signal.SIGKILL):
        self.process.send_signal(sig)
        if sig == signal.SIGKILL:
            self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
            assert self.process.returncode == 0, f"ended with {self.process.returncode}: {self.log_text()[-3000:]}"

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            if SANITIZED:
                self.stop()  # a killed process reports no leak
            else:
                self.process.kill()
                self.process.wait()
        if SANITIZED:
            for log in self.folder.glob("log.*"):
                text = log.read_text(errors="replace")
                assert "Sanitizer" not in text and "runtime error:" not in text, text[-16000:]

    def call(self, method, path, body=None, auth=None, headers=None, raw=False, prefix=PREFIX):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        send = {"Authorization": f"Bearer {auth or token()}"}
        send.update(headers or {})
        payload = None
        if body is not None:
            payload = json.dumps(body)
            send["Content-Type"] = "application/json"
        connection.request(method, prefix + path, payload, send)
        response = connection.getresponse()
        content = response.read()
        if raw:
            return response.status, dict(response.getheaders()), content
        return json.loads(content)

    def create(self, auth=None, **body):
        request = {"exportType": "TEST_LIST", "format": "XLSX", "taskName": "t", "parameters": {}}
        request.update(body)
        answer = self.call("POST", "/files/export-tasks", request, auth=auth)
        assert answer["code"] == "200", answer
        return answer["data"]["id"]

    def detail(self, task, auth=None):
        answer = self.call("GET", f"/files/export-tasks/{task}", auth=auth)
        assert answer["code"] == "200", answer
        return answer["data"]

    def wait_for(self, task, *statuses, seconds=WAIT_S):
        def ended():
            detail = self.detail(task)
            return detail if detail["status"] in statuses else None

        try:
            return wait_until(ended, f"{task} to be {statuses}", seconds, every=0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.detail(task)}; log: {self.log_text()[-3000:]}") from None

    def download(self, task, to):
        status, headers, content = self.call("GET", f"/files/export-tasks/{task}/download", raw=True)
        assert status == 200, content[:500]
        pathlib.Path(to).write_bytes(content)
        return headers

    def visible_files(self):
        exports = self.files / "exports"
        return sorted(p for p in exports.rglob("*") if p.is_file() and not p.name.startswith(".")) if exports.exists() else []

    def hidden_files(self):
        return sorted(p for p in self.files.rglob(".*tmp*") if p.is_file())

    def make_due(self):
        """Ends every back-off, as time would. Only while no process serves the file."""
        connection = sqlite3.connect(self.database)
        for table in ("task", "outbox"):
            connection.execute(f"UPDATE {table} SET due_at = due_at - 3600000 WHERE status = 0")
        connection.commit()
        connection.close()

    def query(self, sql, *values):
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=30)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()


def read_rows(path):
    """Every data row of every sheet, by openpyxl; asserts that each sheet starts with the header."""
    import openpyxl
    book = openpyxl.load_workbook(path, read_only=True)
    header = tuple(column["title"] for column in Provider.COLUMNS)
    for sheet in book.worksheets:
        rows = sheet.iter_rows(values_only=True)
        assert next(rows) == header
        yield from rows
    book.close()


def limit_file_size(size):
    """For preexec: writes beyond `size` bytes fail with EFBIG instead of a signal."""
    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return apply
