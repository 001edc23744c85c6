"""The cases of tests/errors that are commands: the whole standard error of the real program, and its exit code."""
import concurrent.futures
import os
import shutil
import subprocess
import tempfile
import unittest

from support import BUILD, FAKE_DRIVER, ROOT, TIMEOUT, ExprunTest

CASES = sorted(file.parent for file in (ROOT / "tests/errors").glob("*/commands"))


class Errors(ExprunTest):
    def answer(self, case):
        """Standard error and exit code of the case's script, run in a copy of its folder."""
        folder = os.path.join(tempfile.mkdtemp(dir=self.folder), "case")
        shutil.copytree(case, folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment |= {"PATH": f"{BUILD}:{environment['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache")}
        result = subprocess.run(["sh", "commands"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT)
        return result.stderr.decode(errors="replace").replace(folder, "HERE"), result.returncode

    def test_every_command_is_answered_as_expected(self):
        self.assertTrue(CASES)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, (text, code) in zip(CASES, pool.map(self.answer, CASES)):
                if os.environ.get("EXPRUN_UPDATE_ERRORS"):
                    update(case, text, code)
                with self.subTest(case=case.name):
                    if FAKE_DRIVER.name in (case / "commands").read_text():
                        self.expect_fake_driver()
                    self.assertEqual((text, code), expected(case))
                    self.assertNotEqual(text, "")


def expected(case):
    code = case / "exit_code"
    return (case / "expected.txt").read_text(), int(code.read_text()) if code.exists() else 2


def update(case, text, code):
    (case / "expected.txt").write_text(text)
    (case / "exit_code").unlink(missing_ok=True)
    if code != 2:
        (case / "exit_code").write_text(f"{code}\n")


if __name__ == "__main__":
    unittest.main()
