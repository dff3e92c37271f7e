"""A provider that misbehaves: the right class, one sentence for the user, no file, a free worker."""

import time

import pytest

from harness import SERVICE_TOKEN, Provider, free_port, wait_until


def answering(value, status=200, headers=()):
    def answer(handler, page, body):
        Provider.send(handler, status, value, headers)
    return answer


def changed(**changes):
    """The proper page with some of its data replaced; values may be functions of the request body."""
    def answer(handler, page, body, provider=None):
        applied = {key: value(body) if callable(value) else value for key, value in changes.items()}
        Provider.send(handler, 200, answer.provider.page_body(body, **applied))
        with answer.provider.lock:
            answer.provider.pages_seen[(body["taskId"], body["dispatchVersion"])] = page + 1
    return answer


def fails(where, provider, status="FAILED"):
    detail = where.wait_for(where.create(), status)
    wait_until(lambda: not where.hidden_files() and not where.visible_files(), "no file to remain")
    message = detail["failure"]["message"]
    assert message and "\n" not in message and len(message) <= 1000
    return detail, message


def test_permanent_answer_is_shown_and_not_retried(site, provider):
    provider.script["*"] = answering({"code": "BAD_RANGE", "message": "the range is too wide"})
    detail, message = fails(site().start(), provider)
    assert "the range is too wide" in message
    assert detail["attempt"] == 1
    assert len(provider.requests) == 1


def test_503_for_ever_fails_after_three_executions_of_four_calls(site, provider):
    provider.script["*"] = answering({"code": "503"}, 503)
    detail, message = fails(site().start(), provider)
    assert detail["attempt"] == 3 and detail["maxAttempts"] == 3
    assert len(provider.requests) == 12, "each execution asks once and repeats the page three times"
    assert detail["failure"]["class"] == "SYSTEM"
    assert [a["dispatchVersion"] for a in detail["attempts"]] == [1, 2, 3], "a row for every execution, once"
    assert all("503" in a["message"] for a in detail["attempts"])


def test_503_a_few_times_is_absorbed_without_an_attempt(site, provider):
    failures = []

    def flaky(handler, page, body):
        if len(failures) < 2:
            failures.append(page)
            return Provider.send(handler, 503, {"code": "503"})
        return False

    provider.script[3] = flaky
    where = site().start()
    detail = where.wait_for(where.create(), "SUCCEEDED")
    assert detail["attempt"] == 1
    assert len(failures) == 2


def test_down(site, provider):
    where = site()
    where.provider_port = free_port()
    where.write_config()
    detail, message = fails(where.start(), provider)
    assert detail["attempt"] == 3
    assert "test-service" in message or "connect" in message.lower()


def test_hanging_is_a_timeout(site, provider):
    import threading
    gate = threading.Event()
    provider.script["*"] = lambda handler, page, body: gate.wait(60)
    where = site(read_timeout=0.4, max_attempts=1).start()
    detail, message = fails(where, provider)
    gate.set()
    assert detail["failure"]["class"] == "TIMEOUT"
    assert "400 ms" in message


def test_dripping_does_not_extend_the_timeout(site, provider):
    def drip(handler, page, body):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.02)
        except OSError:
            handler.close_connection = True

    provider.script["*"] = drip
    where = site(read_timeout=0.5, max_attempts=1).start()
    started = time.monotonic()
    detail, message = fails(where, provider)
    assert time.monotonic() - started < 8, "four calls of half a second; the drip itself never ends"
    assert len(provider.requests) == 4
    assert detail["failure"]["class"] == "TIMEOUT"
    assert "500 ms" in message


def test_five_mebibyte_page_is_cut_while_reading(site, provider):
    provider.script["*"] = answering(b'{"code":"200","data":{"x":"' + b"a" * (5 << 20) + b'"}}')
    detail, message = fails(site().start(), provider)
    assert detail["attempt"] == 1 and "4 MiB" in message
    assert detail["failure"]["class"] == "LIMIT"


def test_endless_page_without_a_length(site, provider):
    def endless(handler, page, body):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        try:
            while True:
                handler.wfile.write(chunk)
        except OSError:
            handler.close_connection = True

    provider.script["*"] = endless
    detail, message = fails(site().start(), provider)
    assert "4 MiB" in message


def test_repeated_cursor_is_transient_and_never_a_loop(site, provider):
    script = changed(nextCursor="100", hasMore=True)
    script.provider = provider
    provider.script["*"] = script
    detail, message = fails(site().start(), provider)
    assert "cursor" in message
    assert detail["attempt"] == 3
    assert len(provider.requests) < 20


def test_cursor_cycle_of_two_is_found(site, provider):
    def cycle(body):
        return "B" if body["cursor"] in (None, "A") else "A"

    def answer(handler, page, body):
        proper = dict(body, cursor=str(page * 100))
        Provider.send(handler, 200, provider.page_body(proper, nextCursor=cycle(body), hasMore=True))
        with provider.lock:
            provider.pages_seen[(body["taskId"], body["dispatchVersion"])] = page + 1

    provider.script["*"] = answer
    detail, message = fails(site(max_attempts=1).start(), provider)
    assert "cursor" in message
    assert len(provider.requests) < 10


def test_changed_hash_is_permanent(site, provider):
    script = changed(schemaHash="h2")
    script.provider = provider
    provider.script[2] = script
    detail, message = fails(site().start(), provider)
    assert detail["attempt"] == 1
    assert "column" in message or "schema" in message.lower()


def test_broken_json_is_transient(site, provider):
    provider.script[1] = answering(b'{"code":"200","data":{"rows":[{"id":"1"')
    detail, message = fails(site().start(), provider)
    assert detail["attempt"] == 3


def test_cut_body_is_never_a_short_file(site, provider):
    def cut(handler, page, body):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        handler.wfile.write(b'{"code":"200"')
        handler.close_connection = True

    provider.script[2] = cut
    detail, message = fails(site().start(), provider)
    assert detail["attempt"] == 3


@pytest.mark.parametrize("total", [0, 10, 10**9, -5, None])
def test_lying_total_rows_changes_nothing(site, provider, total):
    script = changed(totalRows=total)
    script.provider = provider
    provider.script["*"] = script
    where = site().start()
    detail = where.wait_for(where.create(), "SUCCEEDED")
    assert detail["progress"]["processed"] == provider.rows


def test_redirect_is_permanent_and_not_followed(site, provider):
    trap = Provider()
    try:
        provider.script["*"] = answering(b"", 302, [("Location", f"http://127.0.0.1:{trap.port}/x")])
        detail, message = fails(site().start(), provider)
        assert detail["attempt"] == 1
        assert not trap.requests
        assert "redirect" in message.lower()
    finally:
        trap.close()


def test_too_many_rows_of_a_page(site, provider):
    rows = [Provider.row(i) for i in range(1, 102)]
    script = changed(rows=rows)
    script.provider = provider
    provider.script["*"] = script
    detail, message = fails(site().start(), provider)
    assert detail["attempt"] == 1 and "100" in message
    assert detail["failure"]["class"] == "LIMIT"


def test_max_rows_stops_while_writing(site, provider):
    detail, message = fails(site(max_rows=1000).start(), provider)
    assert "1000" in message.replace(",", "") and detail["attempt"] == 1
    assert detail["failure"]["class"] == "LIMIT"
    assert len(provider.requests) <= 14


def test_deadline_ends_an_execution_that_never_ends(site, provider):
    """D08: renewals succeed, but the deadline of the type ends the run, with a sentence that says so."""
    provider.hold(2)
    where = site(type_minutes=1, max_attempts=1, read_timeout=20).start()
    task = where.create()
    provider.wait_for_page(2)
    import sqlite3
    connection = sqlite3.connect(where.database, timeout=30)
    connection.execute("UPDATE task SET execution_deadline_at = execution_deadline_at - 60000")
    connection.commit()
    connection.close()
    detail = where.wait_for(task, "FAILED")
    provider.release(2)
    assert "maximum duration" in detail["failure"]["message"]
    assert detail["failure"]["class"] == "TIMEOUT"
    wait_until(lambda: not where.hidden_files() and not where.visible_files(), "no file to remain")


def test_the_request_carries_what_the_contract_says_and_no_user_token(site, provider):
    where = site().start()
    task = where.create(parameters={"status": "PAID"})
    where.wait_for(task, "SUCCEEDED")
    first, second = provider.requests[0], provider.requests[1]
    body = first["body"]
    assert body["taskId"] == task and body["tenantId"] == "t1" and body["appCode"] == "shop"
    assert body["requestedBy"] == "alice" and body["dispatchVersion"] in (1, "1")
    assert body["parameters"] == {"status": "PAID"} and body["limit"] == 100
    assert body["cursor"] is None and body["snapshotToken"] is None
    assert second["body"]["snapshotToken"] == "snap-1" and second["body"]["cursor"] == "100"
    headers = {name.lower(): value for name, value in first["headers"].items()}
    assert "authorization" not in headers and "accept-encoding" not in headers and "cookie" not in headers
    assert headers["x-internal-service-token"] == SERVICE_TOKEN
    assert headers["traceparent"].startswith("00-")
