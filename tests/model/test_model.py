"""docs/PROOF.md names what exists, on both sides of its map; model/run judges its searches as it says."""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROOF = (ROOT / "docs/PROOF.md").read_text()
MODEL = (ROOT / "model/dispatch.pml").read_text()
PARTS = re.compile(r"^(?:inline|proctype) (\w+)", re.M)


def load_runner():
    loader = importlib.machinery.SourceFileLoader("model_run", str(ROOT / "model/run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("model_run", loader))
    sys.modules["model_run"] = module
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


RUNNER = load_runner()


def read_map(text):
    """[(names of the model, [(file, name or None)])] of the table "| model | code |"."""
    rows = []
    table = text[text.index("| model | code |"):].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        left, right = line.strip("| ").split(" | ")
        code, file = [], None
        for word in re.findall(r"`([^`]+)`", right):
            file = word if "/" in word else file
            code.append((file, None if "/" in word else word))
        rows.append((re.findall(r"`(\w+)`", left), code))
    return rows


MAP = read_map(PROOF)


def names(file, name, text):
    """Whether the text of a file defines this function, class, table or statement."""
    if file.endswith(".sql"):
        return re.search(rf"^(-- name: {name}|CREATE TABLE {name}\b.*)$", text, re.M) is not None
    if file.endswith(".h"):
        return re.search(rf"\b(class|struct) {name}\b", text) is not None
    # A definition begins its line: a return type, the name, its parameters.
    return re.search(rf"^\s*[\w:\[\]<>,&* ]+[ &*]{re.escape(name)}\(", text, re.M) is not None


@pytest.mark.parametrize("file, name", sorted({entry for _, code in MAP for entry in code}, key=str))
def test_the_code_of_the_map_exists(file, name):
    assert (ROOT / file).is_file(), f"docs/PROOF.md names {file}, which does not exist"
    if name:
        assert names(file, name, (ROOT / file).read_text()), f"docs/PROOF.md names {name} in {file}, which has no such thing"


def test_a_wrong_name_would_be_seen():
    text = (ROOT / "src/dispatch/consumer.cc").read_text()
    assert names("consumer.cc", "Consumer::claim", text)
    assert not names("consumer.cc", "Consumer::clai", text)
    assert not names("consumer.cc", "claim_next", text)  # it is called there, not defined


def test_the_model_of_the_map_exists_and_is_all_of_it():
    named = {name for left, _ in MAP for name in left}
    for name in named:
        assert re.search(rf"^\s*(inline|proctype|byte|bool|#define) (\w+\[?.*, )?{name}\b", MODEL, re.M), \
            f"docs/PROOF.md maps {name}, which the model does not have"
    assert set(PARTS.findall(MODEL)) <= named


def test_every_broken_rule_of_the_model_is_tried():
    in_model = set(re.findall(r"\bBREAK_(\w+)", MODEL)) - {"..."}
    tried = [name for name, *_ in RUNNER.BROKEN]
    assert in_model == set(tried)
    assert len(tried) == len(set(tried))
    assert f"{len(tried)} are broken in turn" in PROOF


def test_every_check_and_its_invariant_are_known():
    labels = set(re.findall(r"/\* (I\d+|cancel):", MODEL)) | {"I1"}
    assert {check.label for check in RUNNER.MUTANTS} == labels
    for check in RUNNER.CHECKS:
        assert check.deep or f"`{check.name}`" in PROOF, f"docs/PROOF.md has no figures of {check.name}"


def result(check, **facts):
    return RUNNER.Result(check, **facts)


def test_what_passes_and_what_does_not():
    check = RUNNER.Check("x", "")
    mutant = RUNNER.Check("y", "", label="I6")
    good = [result(check, states=5), result(mutant, found="I6")]
    bad = [result(check, found="I6"), result(check, problem="cut short"), result(mutant), result(mutant, found="I3"),
           result(mutant, problem="no end")]
    assert all(RUNNER.verdict(r)[0] for r in good)
    assert not any(RUNNER.verdict(r)[0] for r in bad)


def test_a_line_counts_as_reached_when_one_search_reached_one_of_its_states():
    check = RUNNER.Check("x", "")
    first = result(check, all_states={1: 2, 2: 1, 3: 1}, unreached={1: 1, 2: 1, 3: 1})
    second = result(check, all_states={2: 1, 3: 1}, unreached={3: 1})
    assert RUNNER.never_reached([first, second]) == [3]
    report = '\tdispatch.pml:7, state 12, "releases = 0"\n\tdispatch.pml:7, state 13, "i = 0"\n\tdispatch.pml:9, state 4, "-end-"\n'
    assert RUNNER.unreached_by_line(report) == {7: 2}
