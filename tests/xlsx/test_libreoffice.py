"""LibreOffice as a judge: what a person would see in a cell, and the schemas of ECMA-376 over every part.

Both need what `./setup --all` installs, and run with `./test --all`.
"""

import csv
import io
import os
import pathlib
import shutil
import subprocess
import zipfile

import lxml.etree
import pytest

from test_readers import NS, ROOT, TEXTS, page, write

ALL = bool(os.environ.get("WAYBILL_TEST_ALL"))
SOFFICE = shutil.which("soffice")
SCHEMAS = ROOT / ".cache" / "ooxml-schemas"
# Fields: separator ',', quote '"', UTF-8, from line 1; texts not quoted by force, numbers as shown, no formulas.
CSV_FILTER = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"

needs_libreoffice = pytest.mark.skipif(
    not (ALL and SOFFICE), reason="LibreOffice judges only in ./test --all" if not ALL else
    "soffice is missing; ./setup --all installs it")
needs_schemas = pytest.mark.skipif(
    not (ALL and (SCHEMAS / "sml.xsd").exists()), reason="schemas are only checked in ./test --all" if not ALL else
    "the schemas of ECMA-376 are missing; ./setup --all fetches them")

NUMBERS = [("INTEGER", "0", "0"), ("INTEGER", "-5", "-5"), ("INTEGER", "1e3", "1000"),
           ("INTEGER", '"1405202108700589"', "1405202108700589"), ("INTEGER", '"9007199254740993"', "9007199254740993"),
           ("INTEGER", '"abc"', "abc"), ("INTEGER", "1.5", "1.5"), ("DECIMAL", "1.5", "1.5"),
           ("DECIMAL", '"-1234.56"', "-1234.56"), ("DECIMAL", "-0.0", "0"), ("DECIMAL", '"NaN"', "NaN"),
           ("DECIMAL", '"12345678901234567890.123"', "12345678901234567890.123"), ("DECIMAL", '"1,5"', "1,5"),
           ("BOOLEAN", "true", "TRUE"), ("BOOLEAN", '"false"', "FALSE"), ("BOOLEAN", '"maybe"', "maybe"),
           ("DATE", '"2024-02-29"', "2024-02-29"), ("DATE", '"9999-12-31"', "9999-12-31"),
           ("DATE", '"1900-03-01"', "1900-03-01"), ("DATE", '"1900-02-29"', "1900-02-29"),
           ("DATE", '"2023-02-29"', "2023-02-29"), ("DATE", '"soon"', "soon"),
           ("DATETIME", '"2018-09-26T23:59:59.999999"', "2018-09-26 23:59:59"),
           ("DATETIME", '"2024-01-15T06:00:00Z"', "2024-01-15 14:00:00"),
           ("DATETIME", '"12:15:00"', "12:15:00"), ("STRING", "null", ""), ("INTEGER", "null", "")]

# LibreOffice takes one to three digits for an escape too (_xd_), where the standard and Excel want four.
DECODED_BY_LIBREOFFICE = {"X06"}


def shown(tmp_path, *files):
    """The cells of each file as LibreOffice shows them, rows of texts. One start serves all files."""
    out = tmp_path / "csv"
    done = subprocess.run(
        [SOFFICE, "--headless", "--norestore", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to",
         CSV_FILTER, "--outdir", str(out), *map(str, files)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stdout + done.stderr
    tables = []
    for file in files:
        text = (out / (file.stem + ".csv")).read_text(encoding="utf-8")
        tables.append(list(csv.reader(io.StringIO(text, newline=""))))
    return tables


@needs_libreoffice
def test_cells_as_libreoffice_shows_them(tmp_path):
    """Every text case under every way to store it, and numbers, truth values and dates in their formats."""
    variants = {"shared": {}, "inline": {"budget": 0}, "small": {"compression": "small"}, "norefs": {"refs": 0}}
    texts = [page([]).replace(b"[]", b"[" + b",".join(
        b'{"v":' + (v if isinstance(v, bytes) else v.encode()) + b"}" for _, v, _ in TEXTS) + b"]")]
    files = []
    for name, options in variants.items():
        files.append(tmp_path / f"{name}.xlsx")
        write(files[-1], [("v", "Value", "STRING", 0)], texts, **options)
    files.append(tmp_path / "typed.xlsx")
    columns = [(f"c{i}", f"C{i}", kind, 40) for i, (kind, _, _) in enumerate(NUMBERS)]
    row = "{" + ",".join(f'"c{i}":{value}' for i, (_, value, _) in enumerate(NUMBERS)) + "}"
    write(files[-1], columns, [f"[{row}]".encode()], zone_seconds=8 * 3600)
    tables = shown(tmp_path, *files)
    for (name, _), table in zip(variants.items(), tables):
        assert table[0] == ["Value"] and len(table) == len(TEXTS) + 1, name
        for (case, _, expected), cells in zip(TEXTS, table[1:]):
            assert (cells[0] if cells else "") == expected or case in DECODED_BY_LIBREOFFICE, (name, case)
    typed = tables[-1]
    assert typed[0] == [title for _, title, _, _ in columns]
    for (kind, value, expected), cell in zip(NUMBERS, typed[1] + [""] * len(NUMBERS)):
        assert cell == expected, (kind, value)


@needs_libreoffice
def test_every_second_of_a_day(tmp_path):  # X54
    """LibreOffice cuts what the format does not show: a serial a hair too small shows the second before."""
    moments = [f"2020-07-04 {s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in range(86400)]
    path = tmp_path / "seconds.xlsx"
    write(path, [("v", "V", "DATETIME", 0)], [page([{"v": moment} for moment in moments])])
    [table] = shown(tmp_path, path)
    assert [row[0] for row in table[1:]] == moments


@needs_libreoffice
def test_a_real_export_as_libreoffice_shows_it(tmp_path):
    """Ten thousand rows of four columns and a formula-like name in each: no value lost, none evaluated."""
    columns = [("id", "Id", "INTEGER", 12), ("name", "姓名", "STRING", 30), ("day", "Day", "DATE", 12), ("paid", "Paid", "BOOLEAN", 8)]
    rows = [{"id": i, "name": f"=HYPERLINK(\"x\",{i})" if i % 3 == 0 else f"客户 {i}", "day": f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}",
             "paid": i % 2 == 0} for i in range(10_000)]
    path = tmp_path / "export.xlsx"
    write(path, columns, [page(rows[:5000]), page(rows[5000:])])
    table, = shown(tmp_path, path)
    assert table[0] == [title for _, title, _, _ in columns]
    assert table[1:] == [[str(r["id"]), r["name"], r["day"], "TRUE" if r["paid"] else "FALSE"] for r in rows]


SCHEMA_OF = {"xl/workbook.xml": "sml.xsd", "xl/styles.xml": "sml.xsd", "xl/sharedStrings.xml": "sml.xsd",
             "docProps/app.xml": "shared-documentPropertiesExtended.xsd"}
# ECMA-376 part 2; its schemas are not in the package that part 1's come from.
WITHOUT_SCHEMA = {"[Content_Types].xml", "docProps/core.xml"}


@needs_schemas
@pytest.mark.parametrize("options", [{}, {"budget": 0}, {"compression": "small"}, {"guard": "apostrophe"}, {"refs": 0}], ids=str)
def test_every_part_follows_its_schema(tmp_path, options):
    schemas = {}

    def schema(name):
        if name not in schemas:
            schemas[name] = lxml.etree.XMLSchema(file=str(SCHEMAS / name))
        return schemas[name]

    text = [("t", "Text", "STRING", 0), ("n", "", "DECIMAL", 300), ("d", "=1+1", "DATETIME", 8)]
    pages = [b"[" + b",".join(b'{"t":' + (v if isinstance(v, bytes) else v.encode()) +
                              b',"n":1.5,"d":"2024-01-15T06:00:00Z"}' for _, v, _ in TEXTS) + b"]"]
    files = [tmp_path / "full.xlsx", tmp_path / "empty.xlsx"]
    write(files[0], text, pages, sheet="a & <b>", title="<t>", created=1700000000, **options)
    write(files[1], text, [], **options)
    for file in files:
        archive = zipfile.ZipFile(file)
        for name in archive.namelist():
            if name in WITHOUT_SCHEMA:
                continue
            wanted = ("opc-relationships.xsd" if name.endswith(".rels") else
                      "sml.xsd" if name.startswith("xl/worksheets/") else SCHEMA_OF[name])
            parsed = lxml.etree.fromstring(archive.read(name))
            # Excel writes it on every text with outer blanks; the schema of part 1 has forgotten it.
            for element in parsed.iter("{%s}t" % NS["m"]):
                element.attrib.pop("{http://www.w3.org/XML/1998/namespace}space", None)
            assert schema(wanted).validate(parsed), (file.name, name, schema(wanted).error_log)
