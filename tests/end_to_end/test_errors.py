"""The cases of tests/errors that are commands: the whole standard error of the real program, and its exit code."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import BUILD, FAKE_DRIVER, ROOT, TIMEOUT, ExprunTest

sys.path.insert(0, str(ROOT / "tests/support"))
import error_cases  # noqa: E402

CASES = {name: files for name, files in error_cases.cases().items() if "commands" in files}


class Errors(ExprunTest):
    def answer(self, files):
        """Standard error and exit code of the case's script, run in a folder of its own."""
        folder = os.path.join(tempfile.mkdtemp(dir=self.folder), "case")
        error_cases.unpack(files, pathlib.Path(folder))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment |= {"PATH": f"{BUILD}:{environment['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache")}
        result = subprocess.run(["sh", "commands"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT)
        return result.stderr.decode(errors="replace").replace(folder, "HERE"), result.returncode

    def test_every_command_is_answered_as_expected(self):
        self.assertTrue(CASES)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (name, files), (text, code) in zip(CASES.items(), pool.map(self.answer, CASES.values())):
                if FAKE_DRIVER.name.encode() in files["commands"]:
                    self.expect_fake_driver()
                if os.environ.get("EXPRUN_UPDATE_ERRORS"):
                    error_cases.update(name, text, code)
                    continue
                with self.subTest(case=name):
                    expected = files["expected.txt"].decode(), int(files.get("exit_code", b"2"))
                    self.assertEqual((text, code), expected)
                    self.assertNotEqual(text, "")


if __name__ == "__main__":
    unittest.main()
