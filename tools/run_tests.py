#!/usr/bin/env python3
"""Builds, runs every test and prints one closing line "N passed, N failed, N skipped".

Called by ./test. Needs only the standard library; pytest runs from the interpreter that runs this file.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKS = ["tools/check_layers", "tools/check_layers --self-test", "tools/tidy", "tools/tidy --self-test"]
PROGRAM_TIMEOUT_S = 1200


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.skips = []

    def add(self, name, outcome, detail=""):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped += 1
            self.skips.append(f"{name}: {detail}" if detail else name)
        else:
            self.failed += 1
            self.failures.append((name, detail))


def build(preset):
    configure = subprocess.run(["cmake", "--preset", preset], cwd=ROOT, capture_output=True, text=True)
    if configure.returncode != 0:
        print(configure.stdout + configure.stderr)
        return False
    return subprocess.run(["cmake", "--build", "--preset", preset, "--", "--quiet"], cwd=ROOT).returncode == 0


def run_check(command, totals):
    result = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True)
    totals.add(command, "passed" if result.returncode == 0 else "failed", result.stdout + result.stderr)


def run_model(command, totals):
    if shutil.which("spin"):
        run_check(command, totals)
    else:
        totals.add(command, "skipped", "spin is missing; ./setup --all installs it")


def run_gtest(program, environment, totals):
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
    failed_before = totals.failed
    for suite in suites:
        for case in suite["testsuite"]:
            name = f"{program.name} {suite['name']}.{case['name']}"
            if case.get("failures"):
                totals.add(name, "failed", "\n".join(failure["failure"] for failure in case["failures"]))
            elif case.get("result") == "SKIPPED" or case.get("status") == "NOTRUN":
                totals.add(name, "skipped", "\n".join(s.get("message", "") for s in case.get("skipped", [])).strip())
            else:
                totals.add(name, "passed")
    if code != 0 and totals.failed == failed_before:
        totals.add(program.name, "failed", f"ended with code {code}\n{output[-8000:]}")
    print(f"  {program.name}: {took:.1f} s", flush=True)


def run_pytest(arguments, environment, totals):
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}", *arguments]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        failed_before = totals.failed
        try:
            cases = ElementTree.parse(report.name).getroot().iter("testcase")
        except ElementTree.ParseError:
            cases = []
        for case in cases:
            name = f"{case.get('classname')}.{case.get('name')}"
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            if bad is not None:
                totals.add(name, "failed", bad.text or "")
            elif case.find("skipped") is not None:
                totals.add(name, "skipped", case.find("skipped").get("message", ""))
            else:
                totals.add(name, "passed")
    # 5 = nothing collected, which a name filter may cause
    if code not in (0, 5) and totals.failed == failed_before:
        totals.add("pytest", "failed", f"ended with code {code}")


def run_preset(preset, name_filter, totals, python_tests):
    print(f"== {preset}", flush=True)
    if not build(preset):
        totals.add(f"build of {preset}", "failed")
        return
    folder = ROOT / "build" / preset
    environment = dict(os.environ, WAYBILL_BUILD=str(folder), LC_ALL="C.UTF-8",
                       ASAN_OPTIONS="detect_stack_use_after_return=0",
                       TSAN_OPTIONS=f"suppressions={ROOT}/tools/tsan.supp",
                       UBSAN_OPTIONS="print_stacktrace=1")
    programs = sorted(p for p in (folder / "tests").glob("*_test") if name_filter in p.name)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        list(pool.map(lambda program: run_gtest(program, environment, totals), programs))
    if python_tests:
        files = sorted(str(p) for p in (ROOT / "tests").glob("*/test_*.py") if not name_filter or name_filter in str(p))
        if files:
            run_pytest(files, environment, totals)


def run_fuzzers(seconds, totals):
    if shutil.which("clang++-19"):
        run_check(f"tools/fuzz_all {seconds}", totals)
    else:
        totals.add("tools/fuzz_all", "skipped", "clang 19 is missing; ./setup --all installs it")


def main():
    parser = argparse.ArgumentParser(prog="./test", description="Runs the tests.")
    parser.add_argument("name", nargs="?", default="", help="only tests whose program or file name contains this")
    parser.add_argument("--all", action="store_true", help="also clang 19, sanitizers, short fuzzing, LibreOffice and the model")
    parser.add_argument("--deep", action="store_true", help="also long fuzzing, fault runs and a larger model")
    options = parser.parse_args()
    if options.all or options.deep:
        os.environ["WAYBILL_TEST_ALL"] = "1"
    if options.deep:
        os.environ["WAYBILL_TEST_DEEP"] = "1"

    started = time.monotonic()
    totals = Totals()
    if not options.name:
        for command in CHECKS:
            run_check(command, totals)
    run_preset("release", options.name, totals, python_tests=True)
    if options.all or options.deep:
        if shutil.which("clang++-19"):
            for preset in ("asan", "tsan"):
                run_preset(preset, options.name, totals, python_tests=False)
        else:
            totals.add("sanitizer builds", "skipped", "clang 19 is missing; ./setup --all installs it")
        if not options.name:
            run_model("model/run --deep" if options.deep else "model/run", totals)
    if options.deep and not options.name:
        run_fuzzers(600, totals)
        run_check(f"build/release/waybill_sim --seed {int(time.time()) * 1000} --seeds 20000", totals)
        run_check("tests/sim/mutations.py", totals)
    elif options.all and not options.name:
        run_fuzzers(30, totals)
        run_check("tests/sim/mutations.py --pick 5 --seeds 300", totals)

    for name, detail in totals.failures:
        print(f"\nFAILED {name}\n{detail}")
    for line in totals.skips:
        print(f"skipped {line}")
    print(f"took {time.monotonic() - started:.0f} s")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
