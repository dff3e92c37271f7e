"""The example of docs/xlsx.md is the program that is built, and it does what it says."""

import os
import pathlib
import subprocess

import python_calamine

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "release"))


def test_the_document_has_the_code():
    code = (ROOT / "tests/xlsx/example_main.cc").read_text().split("// [example]\n")[1]
    assert f"```cpp\n{code}```\n" in (ROOT / "docs/xlsx.md").read_text()


def test_it_runs(tmp_path):
    path = tmp_path / "o.xlsx"
    program = (BUILD if BUILD.is_absolute() else ROOT / BUILD) / "waybill_xlsx_example"
    done = subprocess.run([program, path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Name\tSum\t\nLi\t12.5\t\n=1+1\t\nWang\t7.25\t\n"
    rows = python_calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    assert rows == [["Name", "Sum"], ["Li", 12.5], ["=1+1", ""], ["Wang", 7.25]]
