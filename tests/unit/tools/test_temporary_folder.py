"""The end of a test's folder, in which something still works."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import temporary_folder  # noqa: E402


class TemporaryFolder(unittest.TestCase):
    def test_what_works_in_it_is_ended_and_cannot_make_it_anew(self):
        folder = tempfile.mkdtemp(prefix="exprun-folder-")
        stubborn = f"trap '' TERM HUP; while true; do mkdir -p {folder}/deep; sleep 0.01; done"
        with subprocess.Popen(["sh", "-c", stubborn], cwd=folder, stdin=subprocess.DEVNULL, start_new_session=True) as process:
            self.assertIn(process.pid, temporary_folder.processes_in(folder))
            temporary_folder.remove(folder)
            self.assertEqual(process.wait(temporary_folder.TIMEOUT), -9)
        self.assertFalse(pathlib.Path(folder).exists())

    def test_one_beside_it_goes_on(self):
        folder, beside = (tempfile.mkdtemp(prefix="exprun-folder-") for _ in range(2))
        with subprocess.Popen(["sleep", "100"], cwd=beside) as process:
            temporary_folder.remove(folder)
            self.assertIsNone(process.poll())
            process.kill()
        temporary_folder.remove(beside)
