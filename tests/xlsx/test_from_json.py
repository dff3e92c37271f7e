"""`waybill xlsx from-json` as a citizen of the machine: what it writes where, and when it must not."""

import datetime
import json
import os
import random
import signal
import subprocess
import time
import zoneinfo

import pytest

from test_reading import BUILD, ENVIRONMENT, page, rows_of, waybill

COLUMNS = [("a", "A", "STRING"), ("n", "N", "INTEGER")]
ONE = page([{"a": "x", "n": 1}], COLUMNS)


def shell(command, **environment):
    return subprocess.run(["bash", "-c", command], capture_output=True, env={**ENVIRONMENT, "W": str(BUILD / "waybill"), **environment})


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_given_to_the_workbook(tmp_path, closed):
    (tmp_path / "p.json").write_bytes(ONE)
    shell(f'cd {tmp_path} && "$W" xlsx from-json p.json -o o.xlsx {closed}')
    assert "nothing is wrong" in waybill("xlsx", "verify", tmp_path / "o.xlsx")


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.xlsx").write_text("before")
    (tmp_path / "link.xlsx").symlink_to("there/real.xlsx")
    waybill("xlsx", "from-json", "-", "-o", tmp_path / "link.xlsx", stdin=ONE)
    assert (tmp_path / "link.xlsx").is_symlink()
    assert rows_of(tmp_path / "there" / "real.xlsx")[2] == ["x", 1]
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["real.xlsx"]


def test_the_output_is_a_file_and_no_page(tmp_path):
    both = tmp_path / "p.json"
    both.write_bytes(ONE)
    assert "cannot be the output as well" in waybill("xlsx", "from-json", both, "-o", both, code=2)
    assert both.read_bytes() == ONE
    assert "needs the name of a file" in waybill("xlsx", "from-json", both, "-o", "-", code=11)
    assert "is empty" in waybill("xlsx", "from-json", both, "-o", "", code=11)


@pytest.mark.parametrize("umask, mode", [("077", 0o600), ("022", 0o644)])
def test_the_umask_counts_and_an_old_files_mode_stays(tmp_path, umask, mode):
    (tmp_path / "p.json").write_bytes(ONE)
    path = tmp_path / "o.xlsx"
    assert shell(f'umask {umask}; "$W" xlsx from-json {tmp_path}/p.json -o {path}').returncode == 0
    assert path.stat().st_mode & 0o777 == mode
    path.chmod(0o640)
    assert shell(f'umask {umask}; "$W" xlsx from-json {tmp_path}/p.json -o {path}').returncode == 0
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 250 + ".xlsx")
    waybill("xlsx", "from-json", "-", "-o", path, stdin=ONE)
    assert rows_of(path)[2] == ["x", 1]


def test_pages_that_are_missing_are_an_error(tmp_path):
    path = tmp_path / "o.xlsx"
    (tmp_path / "p.json").write_bytes(ONE)
    more = page([{"a": "x", "n": 1}], COLUMNS, hasMore=True, nextCursor="c")
    assert "rows are missing" in waybill("xlsx", "from-json", "-", "-o", path, stdin=more, code=6)
    assert "holds no page" in waybill("xlsx", "from-json", tmp_path / "p.json", "-", "-o", path, code=6)
    assert not path.exists()
    waybill("xlsx", "from-json", "-", "-o", path, stdin=more + b"\n" + page([{"a": "y", "n": 2}]))
    assert rows_of(path)[3] == ["y", 2]


def test_what_was_changed_is_said(tmp_path):
    rows = [{"a": "x" * 40000, "n": "soon"}, {"a": "\ud800", "n": 1234567890123456, "other": 1}, {"a": "=1", "n": 1}]
    said = waybill("xlsx", "from-json", "-", "-o", tmp_path / "o.xlsx", stdin=page(rows, COLUMNS).replace(b"\xed\xa0\x80", b"\\ud800"))
    assert said.splitlines()[1:] == [
        "  note: 1 cell cut to 32,767 characters", "  note: 1 cell that looks like a formula, kept as text",
        "  note: 1 integer beyond 15 digits, kept as text", "  note: 1 value not of its column's type, kept as text",
        "  note: 1 text with broken characters, repaired", "  note: 1 field without a column, left out"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing(tmp_path, how):
    process = subprocess.Popen([str(BUILD / "waybill"), "xlsx", "from-json", "-", "-o", str(tmp_path / "o.xlsx")],
                               stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()):  # the hidden file is made after the signals are caught
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(how)
    process.stdin.close()
    assert process.wait(30) == 130
    assert b"nothing was written" in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_zones_as_the_zone_database_has_them(tmp_path):
    """Moments of every century to come in many zones, daylight saving included: Python's zoneinfo is the judge."""
    rng = random.Random(2037)
    utc = datetime.timezone.utc
    names = sorted(n for n in zoneinfo.available_timezones()
                   if "/" in n and not n.startswith(("posix", "right")) and os.path.exists(f"/usr/share/zoneinfo/{n}"))
    some = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Nuuk", "Asia/Gaza", "Europe/Dublin",
            "Africa/Cairo", "America/Santiago", "Asia/Shanghai", *rng.sample(names, 16)]
    first, last = datetime.datetime(1971, 1, 1, tzinfo=utc), datetime.datetime(9998, 1, 1, tzinfo=utc)
    near = datetime.datetime(2036, 1, 1, tzinfo=utc)
    moments = [start + datetime.timedelta(seconds=rng.randrange(int((end - start).total_seconds())))
               for start, end in ((first, last), (near, near.replace(year=2040))) for _ in range(60)]
    pages = page([{"t": m.strftime("%Y-%m-%dT%H:%M:%SZ")} for m in moments], [("t", "T", "DATETIME")])
    path = tmp_path / "o.xlsx"
    for name in some:
        done = subprocess.run([str(BUILD / "waybill"), "xlsx", "from-json", "-", "-o", str(path)], input=pages,
                              capture_output=True, env={**ENVIRONMENT, "TZ": name})
        assert done.returncode == 0, done.stderr
        rows = rows_of(path)
        zone = zoneinfo.ZoneInfo(name)
        for i, moment in enumerate(moments):
            assert rows[i + 2] == [moment.astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S")], (name, moment)
