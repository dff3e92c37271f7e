#!/usr/bin/env python3
"""Builds, runs every test and prints one closing line "N passed, N failed, N skipped".

Called by ./test. Needs only the standard library; pytest runs from the interpreter that runs this file.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import typing
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKS = ["tools/check_layers", "tools/check_layers --self-test", "tools/tidy", "tools/tidy --self-test"]
PROGRAM_TIMEOUT_S = 1200
PYTEST_TIMEOUT_S = 3600
# Pure rules, readers and writers that one thread owns, and a simulation that is one thread by design: the thread
# sanitizer has nothing to see in these.
NOT_UNDER_TSAN = {"waybill_core_test", "waybill_xlsx_test", "waybill_simulation_test"}


class Totals:
    """Thread-safe: test programs run side by side."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.skips = []

    def add(self, name, outcome, detail=""):
        with self.lock:
            if outcome == "passed":
                self.passed += 1
            elif outcome == "skipped":
                self.skipped += 1
                self.skips.append(f"{name}: {detail}" if detail else name)
            else:
                self.failed += 1
                self.failures.append((name, detail))


@contextlib.contextmanager
def timed(what):
    """Says what a part cost: wall time, and CPU time of its programs."""
    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    started, cpu_before = time.monotonic(), cpu()
    yield
    print(f"  {what}: {time.monotonic() - started:.0f} s, {cpu() - cpu_before:.0f} s of CPU", flush=True)


def configure(preset):
    result = subprocess.run(["cmake", "--preset", preset], cwd=ROOT, capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout + result.stderr)
    return result.returncode == 0


def build(preset, targets=()):
    command = ["cmake", "--build", "--preset", preset]
    for target in targets:
        command += ["--target", target]
    return subprocess.run([*command, "--", "--quiet"], cwd=ROOT).returncode == 0


def test_programs(preset, name_filter):
    """Names of the test programs that need no outside server; they are targets too."""
    listing = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"], cwd=ROOT,
                             capture_output=True, text=True, check=True)
    names = (test["name"] for test in json.loads(listing.stdout)["tests"])
    return sorted(n for n in names if n.endswith("_test") and name_filter in n)


def environment_for(preset):
    symbolizer = shutil.which("llvm-symbolizer-19")
    symbols = f":external_symbolizer_path={symbolizer}" if symbolizer else ""
    return dict(os.environ, WAYBILL_BUILD=str(ROOT / "build" / preset), LC_ALL="C.UTF-8",
                ASAN_OPTIONS="detect_stack_use_after_return=0" + symbols,
                TSAN_OPTIONS=f"suppressions={ROOT}/tools/tsan.supp:second_deadlock_stack=1" + symbols,
                UBSAN_OPTIONS="print_stacktrace=1" + symbols)


def run_check(command, totals):
    result = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True)
    totals.add(command, "passed" if result.returncode == 0 else "failed", result.stdout + result.stderr)


def run_gtest(program, environment, totals):
    label = f"{program.parent.parent.name}/{program.name}"
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        started = time.monotonic()
        try:
            result = subprocess.run([str(program), f"--gtest_output=json:{report.name}", "--gtest_brief=1"], cwd=ROOT,
                                    env=environment, capture_output=True, text=True, errors="replace",
                                    timeout=PROGRAM_TIMEOUT_S)
            output, code = result.stdout + result.stderr, result.returncode
        except subprocess.TimeoutExpired as expired:
            output, code = f"no end after {PROGRAM_TIMEOUT_S} s\n{expired.stdout}", -1
        took = time.monotonic() - started
        try:
            suites = json.load(open(report.name))["testsuites"]
        except (ValueError, KeyError):
            suites = []
    any_failed = False
    for suite in suites:
        for case in suite["testsuite"]:
            name = f"{label} {suite['name']}.{case['name']}"
            if case.get("failures"):
                any_failed = True
                totals.add(name, "failed", "\n".join(failure["failure"] for failure in case["failures"]))
            elif case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                totals.add(name, "skipped", "\n".join(s.get("message", "") for s in case.get("skipped", [])).strip())
            else:
                totals.add(name, "passed")
    # A crash, a sanitizer's report, or no end: the exit code tells, whatever the cases said.
    if code != 0 and not any_failed:
        totals.add(label, "failed", f"ended with code {code}\n{output[-16000:]}")
    print(f"  {label}: {took:.1f} s", flush=True)


def run_programs(preset, names, totals):
    programs = [ROOT / "build" / preset / "tests" / name for name in names]
    environment = environment_for(preset)
    if preset in ("asan", "tsan"):
        # Many times slower: what --all and --deep repeat or draw at random belongs to the release build.
        environment.pop("WAYBILL_TEST_ALL", None)
        environment.pop("WAYBILL_TEST_DEEP", None)
    with timed("test programs"), concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        list(pool.map(lambda program: run_gtest(program, environment, totals), programs))


def run_pytest(preset, name_filter, totals, folder="*"):
    files = sorted(str(p) for p in (ROOT / "tests").glob(f"{folder}/test_*.py") if name_filter in str(p.relative_to(ROOT)))
    if not files:
        return
    with tempfile.NamedTemporaryFile(suffix=".xml") as report, timed("pytest"):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}", *files]
        try:
            code = subprocess.run(command, cwd=ROOT, env=environment_for(preset), timeout=PYTEST_TIMEOUT_S).returncode
        except subprocess.TimeoutExpired:
            code = f"none after {PYTEST_TIMEOUT_S} s"
        try:
            cases = list(ElementTree.parse(report.name).getroot().iter("testcase"))
        except ElementTree.ParseError:
            cases = []
    any_failed = False
    for case in cases:
        name = f"{preset}/{case.get('classname')}.{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if bad is not None:
            any_failed = True
            totals.add(name, "failed", bad.text or "")
        elif case.find("skipped") is not None:
            totals.add(name, "skipped", case.find("skipped").get("message", ""))
        else:
            totals.add(name, "passed")
    # 5 = nothing collected, which a name filter may cause
    if code not in (0, 5) and not any_failed:
        totals.add(f"pytest of {preset}", "failed", f"ended with code {code}")


def run_release(name_filter, totals):
    if not name_filter:
        for command in CHECKS:
            run_check(command, totals)
    run_whole_preset("release", name_filter, totals)


def run_whole_preset(preset, name_filter, totals):
    with timed("build"):
        built = configure(preset) and build(preset)
    if not built:
        totals.add(f"build of {preset}", "failed")
        return
    run_programs(preset, test_programs(preset, name_filter), totals)
    run_pytest(preset, name_filter, totals)


def run_sanitizer(preset, name_filter, totals):
    """Only the test programs: what cannot run is not compiled."""
    names = []
    with timed("build"):
        built = configure(preset)
        if built:
            names = [n for n in test_programs(preset, name_filter) if preset != "tsan" or n not in NOT_UNDER_TSAN]
            built = not names or build(preset, names)
    if built:
        run_programs(preset, names, totals)
    else:
        totals.add(f"build of {preset}", "failed")


def run_faults_under_asan(name_filter, totals):
    """The end-to-end tests again, against a server that ends with an error when it leaks or misuses memory."""
    with timed("build"):
        built = configure("asan") and build("asan", ["waybill_program"])
    if built:
        run_pytest("asan", name_filter, totals, folder="e2e")
    else:
        totals.add("build of asan", "failed")


def run_tool(command, name_filter, totals):
    if not name_filter:
        with timed(command):
            run_check(command, totals)


class Stage(typing.NamedTuple):
    name: str
    tier: str  # the option that asks for it
    tool: str  # a program without which it is skipped
    run: typing.Callable[[str, Totals], None]


def tool(command):
    return lambda name_filter, totals: run_tool(command, name_filter, totals)


def run_long_simulation(name_filter, totals):
    run_tool(f"build/release/waybill_sim --seed {int(time.time()) * 1000} --seeds 20000", name_filter, totals)


STAGES = [
    Stage("release", "", "g++", run_release),
    Stage("mutations", "all", "g++", tool("tests/sim/mutations.py --pick 5 --seeds 300")),
    Stage("model", "all", "spin", tool("model/run")),
    Stage("asan", "all", "clang++-19", lambda name, totals: run_sanitizer("asan", name, totals)),
    Stage("tsan", "all", "clang++-19", lambda name, totals: run_sanitizer("tsan", name, totals)),
    Stage("fuzz", "all", "clang++-19", tool("tools/fuzz_all 30")),
    Stage("clang", "deep", "clang++-19", lambda name, totals: run_whole_preset("clang", name, totals)),
    Stage("asan-e2e", "deep", "clang++-19", run_faults_under_asan),
    Stage("lint", "deep", "clang-tidy-19", tool("tools/clang_tidy_all")),
    Stage("analyzer", "deep", "clang-tidy-19", tool("tools/clang_tidy_all --analyzer")),
    Stage("long-fuzz", "deep", "clang++-19", tool("tools/fuzz_all 600")),
    Stage("simulation", "deep", "g++", run_long_simulation),
    Stage("all-mutations", "deep", "g++", tool("tests/sim/mutations.py")),
    Stage("large-model", "deep", "spin", tool("model/run --deep")),
]


def chosen_stages(options):
    if options.stage:
        return [stage for stage in STAGES if stage.name in options.stage]
    tiers = {""}
    if options.all or options.deep:
        tiers.add("all")
    if options.deep:
        tiers.add("deep")
    return [stage for stage in STAGES if stage.tier in tiers]


def main():
    parser = argparse.ArgumentParser(prog="./test", description="Runs the tests.")
    parser.add_argument("name", nargs="?", default="", help="only tests whose program or file name contains this")
    parser.add_argument("--all", action="store_true", help="also the sanitizers, short fuzzing, the judges of our files, the model")
    parser.add_argument("--deep", action="store_true",
                        help="also clang-tidy, optimised clang, faults under sanitizers, long fuzzing, a larger model")
    parser.add_argument("--stage", action="append", choices=[stage.name for stage in STAGES],
                        help="only this part; may be given again")
    options = parser.parse_args()
    stages = chosen_stages(options)
    if options.all or options.deep:
        os.environ["WAYBILL_TEST_ALL"] = "1"
    if options.deep:
        os.environ["WAYBILL_TEST_DEEP"] = "1"

    started = time.monotonic()
    totals = Totals()
    for stage in stages:
        if shutil.which(stage.tool) is None:
            totals.add(f"stage {stage.name}", "skipped", f"{stage.tool} is missing; ./setup --all installs it")
            continue
        print(f"== {stage.name}", flush=True)
        with timed(f"stage {stage.name}"):
            stage.run(options.name, totals)

    for name, detail in totals.failures:
        print(f"\nFAILED {name}\n{detail}")
    for line in totals.skips:
        print(f"skipped {line}")
    print(f"took {time.monotonic() - started:.0f} s")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
