"""tools/test counts what ran, what failed and what was skipped, and never a test that did not run."""
import concurrent.futures
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIMIT = 5.0  # seconds: what is ended for its time has begun by then, also on a busy machine


def load():
    loader = importlib.machinery.SourceFileLoader("tools_test", str(ROOT / "tools/test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tools_test", loader))
    loader.exec_module(module)
    return module


class Counting(unittest.TestCase):
    def setUp(self):
        self.test = load()
        self.count = self.test.Count()
        self.commands = []

    def counted(self, function, *arguments):
        """(passed, failed, skipped) and the printed text."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            function(self.count, *arguments)
        return (self.count.passed, self.count.failed, self.count.skipped), printed.getvalue()

    def program(self, code, output, mode="default"):
        def run(command, *_):
            self.commands.append(command)
            return code, output
        self.test.run = run
        return self.counted(self.test.test_side_by_side, {"unit_x": (self.test.run_program, ["unit_x"], mode)})

    def test_a_skip_is_not_a_pass(self):
        counts, printed = self.program(0, "SKIPPED: no fixture parity/x\n"
                                       "[doctest] test cases:  4 |  4 passed | 0 failed | 2 skipped\n")
        self.assertEqual(counts, (3, 0, 1))
        self.assertIn("SKIPPED: no fixture parity/x", printed)

    def test_failures_are_shown(self):
        counts, printed = self.program(1, "a.cpp:3: ERROR\n[doctest] test cases: 4 | 3 passed | 1 failed | 0 skipped\n")
        self.assertEqual(counts, (3, 1, 0))
        self.assertIn("a.cpp:3: ERROR", printed)

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.program(-11, "nothing more")[0], (0, 1, 0))

    def test_an_error_after_all_cases_is_a_failure(self):
        counts, _ = self.program(1, "[doctest] test cases: 4 | 4 passed | 0 failed | 0 skipped\nLeakSanitizer: leaks\n")
        self.assertEqual(counts, (4, 1, 0))

    def test_a_program_without_cases_is_a_failure(self):
        self.assertEqual(self.program(0, "")[0], (0, 1, 0))

    def run_script(self, script):
        """As run_program runs a test program."""
        return self.counted(self.test.test_side_by_side,
                            {"unit_x": (self.test.run_program, ["sh", "-c", script], "long")})

    def test_the_case_in_which_a_program_crashed_is_named(self):
        counts, printed = self.run_script('echo before; printf "store: it is torn" >"$EXPRUN_RUNNING_CASE"; kill -KILL $$')
        self.assertEqual(counts, (0, 1, 0))
        self.assertRegex(printed, r"before\n\nexit code -9 in the test case 'store: it is torn', \d s after it began\n")

    def test_the_case_in_which_a_program_ran_past_its_time_is_named(self):
        self.test.PROGRAM_TIMEOUT = LIMIT / 4
        counts, printed = self.run_script('printf "ranks: meet" >"$EXPRUN_RUNNING_CASE"; exec sleep 60')
        self.assertEqual(counts, (0, 1, 0))
        self.assertRegex(printed, r"ended after 5.0 s\nexit code 124 in the test case 'ranks: meet', \d s after it began\n")

    def test_no_case_is_named_for_what_goes_wrong_outside_of_all(self):
        _, printed = self.run_script("exit 3")
        self.assertIn("exit code 3\n", printed)

    def test_a_test_program_says_which_case_runs(self):
        case = "shell: a word is quoted where a shell would make something else of it"

        def run_with(file):
            subprocess.run([ROOT / "build/unit_base", f"--test-case={case}"], stdout=subprocess.DEVNULL, check=True,
                           env={**os.environ, "EXPRUN_RUNNING_CASE": str(file)}, timeout=120)

        with tempfile.TemporaryDirectory() as folder:
            pipe, file = pathlib.Path(folder, "pipe"), pathlib.Path(folder, "file")
            os.mkfifo(pipe)
            written = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, written)
            run_with(pipe)
            self.assertEqual(os.read(written, 1000).decode(), case)
            run_with(file)
            self.assertEqual(file.read_text(), "", "no case runs any more")

    def test_each_mode_leaves_out_the_suites_above_it(self):
        output = "[doctest] test cases: 1 | 1 passed | 0 failed | 0 skipped\n"
        for mode in ("quick", "default", "sanitized", "long"):
            self.program(0, output, mode)
        self.assertEqual(self.commands, [["unit_x", "--test-suite-exclude=slow,long"], ["unit_x", "--test-suite-exclude=long"],
                                         ["unit_x", "--test-suite-exclude=long,exhaustive"], ["unit_x"]])

    def test_every_suite_is_one_that_a_mode_knows(self):
        sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp"))
        suites = set(re.findall(r'test_suite\("(\w+)"\)|TEST_SUITE\w*\("(\w+)"\)', sources))
        names = {a or b for a, b in suites}
        self.assertIn("slow", names)
        self.assertLessEqual(names, set(",".join(self.test.LEFT_OUT.values()).split(",")))

    def test_python_tests(self):
        output = "test_a (x.X) ... ok\nRan 9 tests in 1.0s\n\nFAILED (failures=1, errors=2, skipped=3)\n"
        self.assertEqual(self.test.python_tally(1, output), (3, 3, 3, output))

    def test_python_tests_that_did_not_start_are_a_failure(self):
        self.assertEqual(self.test.python_tally(1, "SyntaxError"), (0, 1, 0, "SyntaxError\nexit code 1"))

    def test_the_python_test_in_which_a_module_ended_is_named(self):
        output = "test_a (x.X.test_a) ... ok\ntest_b (x.X.test_b)\nIt waits. ... \nended after 900 s"
        self.assertEqual(self.test.python_tally(124, output),
                         (0, 1, 0, output + "\nexit code 124, test_b was the last test to begin"))

    def test_every_python_file_is_run_and_counted(self):
        self.test.run = lambda command, *_: (0, f"{command[-1]}\nRan 2 tests in 1.0s\n\nOK\n")
        files = list((ROOT / "tests/unit/tools").glob("test_*.py"))
        modules = self.test.python_modules("unit/tools", False)
        self.assertEqual(self.counted(self.test.test_python, "x", "unit/tools", modules, False)[0], (2 * len(files), 0, 0))

    def test_what_waits_for_all_programs_is_there(self):
        self.assertLessEqual(self.test.OF_ALL_PROGRAMS, set(self.test.python_modules("end_to_end", False)))

    def test_the_longest_modules_are_there_and_begin_first(self):
        modules = self.test.python_modules("end_to_end", False)
        self.assertLessEqual(set(self.test.LONGEST_MODULES), set(modules))
        ordered = self.test.first(self.test.LONGEST_MODULES, modules)
        self.assertEqual(tuple(ordered[:len(self.test.LONGEST_MODULES)]), self.test.LONGEST_MODULES)
        self.assertEqual(sorted(ordered), modules)

    def order_of(self, mode, *failed):
        """Sections that test_all tests in this order, where the builds of these names have failed."""
        sections = []
        self.test.check = lambda _, section, command: sections.append(section)
        self.test.test_python = lambda _, section, folder, modules, long: sections.extend([section, *modules])
        self.test.test_side_by_side = lambda _, programs: sections.extend(programs)
        self.test.doctest_programs = lambda folder, kind="": dict.fromkeys([kind + "x", *self.test.LONGEST])
        self.test.test_built_beside = lambda *_: sections.append("built beside")
        builds = {name: unittest.mock.Mock(done=lambda *_, name=name: sections.append(f"built {name}") or name not in failed)
                  for name in ("engine", "all")}
        self.test.test_all(self.count, mode, builds)
        return sections

    def test_what_needs_a_build_waits_for_it(self):
        order = self.order_of("default")
        for build, section in (*(("engine", program) for program in self.test.LONGEST), ("engine", "engine_x"), ("all", "test_bundle")):
            self.assertLess(order.index(f"built {build}"), len(order) - 1 - order[::-1].index(section))
        for section in ("unit_x", "test_run"):
            self.assertLess(order.index(section), order.index("built engine"))
        self.assertEqual(order.count("test_bundle"), 1)
        self.assertEqual(order[-1], "built beside")

    def test_what_was_not_built_is_not_tested(self):
        order = self.order_of("default", "engine", "all")
        self.assertIn("built all", order)
        self.assertNotIn("engine_x", order)
        self.assertNotIn("test_bundle", order)

    def test_a_quick_run_builds_everything_too(self):
        order = self.order_of("quick")
        self.assertEqual([section for section in order if section.startswith("built")], ["built engine", "built all"])
        self.assertFalse([section for section in order if section.startswith("test_") and section in
                          self.test.python_modules("end_to_end", True)])

    def test_a_build_that_fails_is_a_failure_and_is_shown(self):
        self.test.run = lambda *_: (1, "x.cpp:3: error")
        with concurrent.futures.ThreadPoolExecutor(1) as queue:
            build = self.test.BuiltBeside(queue, ["tools/setup/all", "x"])
        counts, printed = self.counted(build.done, "x")
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("x.cpp:3: error", printed)

    def test_what_is_sanitized_and_fuzzed_is_counted_by_section(self):
        programs = [program for _, built in self.test.SANITIZED.values() for program in built]
        self.test.doctest_programs = lambda folder: {name: [folder, name] for name in programs}

        def run(command, *_):
            failed = int(command[:2] == ["build/address", "unit_text"])
            return failed, f"of {command[1]}\n[doctest] test cases: 3 | {3 - failed} passed | {failed} failed | 0 skipped\n"
        self.test.run = run
        builds = {name: unittest.mock.Mock(done=lambda *_: True) for name in (*self.test.SANITIZED, "fuzz")}
        (passed, failed, skipped), printed = self.counted(self.test.test_built_beside, builds, "default")
        self.assertEqual((passed, failed, skipped), (3 * len(programs) - 1 + len(self.test.FUZZED), 1, 0))
        self.assertIn("of unit_text\n[doctest]", printed)
        self.assertIn("unit_text (address sanitizer): 2 passed, 1 failed, 0 skipped", printed)
        self.assertNotIn("of unit_base", printed)

    def test_a_check_that_could_not_be_made_is_a_skip(self):
        for code, counts in ((0, (1, 0, 0)), (77, (1, 0, 1)), (1, (1, 1, 1))):
            self.test.run = lambda *_, code=code: (code, "")
            self.assertEqual(self.counted(self.test.check, "format", ["x"])[0], counts)

    def test_a_program_that_hangs_is_ended(self):
        code, output = self.test.run([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"], LIMIT)
        self.assertEqual(code, 124)
        self.assertIn("1\n", output)

    def test_all_that_it_started_are_ended_with_it(self):
        started = time.monotonic()
        code, output = self.test.run(["sh", "-c", "setsid sleep 60 & echo $!; exec sleep 60"], LIMIT)
        self.assertEqual(code, 124)
        self.assertLess(time.monotonic() - started, 55)  # before the sleep ends by itself
        command = pathlib.Path("/proc", output.split()[0], "cmdline")
        self.assertFalse(command.exists() and command.read_bytes(), "it runs (of a dead one there is no command line)")

    def test_sigterm_ends_all_that_it_started(self):
        script = ("import signal, sys; sys.path.insert(0, sys.argv[1]); from test_counting import load; test = load();"
                  "signal.signal(signal.SIGTERM, test.end_in_order); test.must(['sh', '-c', 'sleep 60 & echo $!; wait'])")
        process = subprocess.Popen([sys.executable, "-c", script, pathlib.Path(__file__).parent], stdout=subprocess.PIPE, text=True)
        started = process.stdout.readline().strip()
        process.terminate()
        self.assertEqual(process.wait(timeout=120), 143)
        process.stdout.close()
        late = time.monotonic() + 50
        while pathlib.Path("/proc", started).exists() and time.monotonic() < late:
            time.sleep(0.05)
        self.assertFalse(pathlib.Path("/proc", started).exists(), "what it started runs")

    def test_what_it_leaves_in_its_folder_is_told(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("tempfile.tempdir", folder):
            self.test.run(["sh", "-c", "true"], 10)
            self.assertFalse([left for left in self.test.things_left(folder) if folder in left])
            self.test.run(["sh", "-c", 'touch "$TMPDIR/forgotten"'], 10)
            self.assertRegex("".join(self.test.things_left(folder)), f"file {folder}/.*/forgotten")


if __name__ == "__main__":
    unittest.main()
