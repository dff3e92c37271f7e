"""Code that must not compile: each snippet is compiled twice, once to succeed and once to fail for the named reason."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SNIPPETS = {
    "dropped Status": (
        '#include "base/result.h"\nwaybill::base::Status f();\nvoid g() { %s f(); }\n',
        "static_cast<void>(", "", "nodiscard"),
    "dropped Result": (
        '#include "base/result.h"\nwaybill::base::Result<int> f();\nvoid g() { %s f(); }\n',
        "static_cast<void>(", "", "nodiscard"),
    "category compared with a number": (
        '#include "base/error.h"\nbool g(waybill::base::Error e) { return e.category == %s; }\n',
        "waybill::base::ErrorCategory::kLimit", "4", "no match for"),
}


def compile_snippet(text):
    return subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", "-I", str(ROOT / "src"), "-x", "c++", "-"],
        input=text, text=True, capture_output=True)


@pytest.mark.parametrize("name", SNIPPETS)
def test_must_not_compile(name):
    text, good, bad, reason = SNIPPETS[name]
    good_text = text % good
    if good.endswith("("):
        good_text = good_text.replace(" f();\nvoid", " f();\nvoid").replace("f(); }", "f()); }")
    control = compile_snippet(good_text)
    assert control.returncode == 0, control.stderr
    broken = compile_snippet(text % bad)
    assert broken.returncode != 0, "it compiled"
    assert reason in broken.stderr
