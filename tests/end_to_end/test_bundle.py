"""tools/bundle: what it makes runs elsewhere, on a LibTorch that LIBTORCH names."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import BUILD, ROOT, TEXT, TINY

LIBTORCH = (BUILD / "libtorch_folder").read_text().strip()


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="exprun-bundle-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        made = subprocess.run([ROOT / "tools/bundle", cls.top / "made", "--libtorch", "/opt/torch"],
                              capture_output=True, text=True, check=False, env={**os.environ, "LIBTORCH": LIBTORCH})
        assert made.returncode == 0, made.stdout + made.stderr
        (cls.top / "made").rename(cls.top / "elsewhere")
        cls.bundle = cls.top / "elsewhere"

    def run_there(self, *words, **variables):
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run([self.bundle / "exprun", *words], cwd=self.top, capture_output=True, text=True, check=False,
                              env={**kept, "XDG_CACHE_HOME": str(self.top / "cache"), **variables})

    def test_a_recipe_trains_there(self):
        (self.top / "tiny.toml").write_text(TINY)
        (self.top / "text.txt").write_text(TEXT)
        result = self.run_there("tiny.toml", "run.device=cpu", LIBTORCH=LIBTORCH)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("finished at step 40/40", result.stderr)
        self.assertIn("no mistakes", self.run_there("check", self.bundle / "recipes/quickstart.toml", LIBTORCH=LIBTORCH).stdout)

    def test_its_programs_look_for_libraries_beside_themselves(self):
        for program in (self.bundle / "bin").iterdir():
            with self.subTest(program=program.name):
                dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
                paths = [line.split("[")[1].rstrip("]").split(":") for line in dynamic.splitlines() if "PATH)" in line]
                of_torch = ["$ORIGIN/../libtorch/lib", "$ORIGIN/../libtorch/../nvidia/cu13/lib"]
                self.assertEqual(paths, [["$ORIGIN/../lib", *([] if program.name == "exprun" else of_torch)]])
                self.assertNotIn(str(ROOT).encode(), program.read_bytes())
        self.assertEqual(os.readlink(self.bundle / "libtorch"), "/opt/torch")

    def test_no_program_of_the_build_looks_for_libraries_in_the_current_folder(self):
        for program in ("exprun", "exprun-trainer", "exprun-trainer-cuda"):
            with self.subTest(program=program):
                dynamic = subprocess.run(["readelf", "-d", BUILD / program], capture_output=True, text=True, check=True).stdout
                (path,) = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "PATH)" in line]
                self.assertNotIn("", path.split(":"))

    def test_without_libtorch_it_says_what_to_do(self):
        link = self.bundle / "libtorch"
        link.rename(self.bundle / "away")
        self.addCleanup((self.bundle / "away").rename, link)
        result = self.run_there("ls", PATH="/usr/bin:/bin")
        if result.returncode == 0:
            self.skipTest("python3 imports a torch here")
        self.assertEqual((result.returncode, result.stderr),
                         (1, "exprun: no LibTorch here: set LIBTORCH to the folder of torch 2.11.0, or install it for python3\n"))
        result = self.run_there("ls", LIBTORCH="/nowhere")
        self.assertEqual((result.returncode, result.stderr),
                         (1, "exprun: no LibTorch in /nowhere (lib/libtorch_cpu.so): mend or unset LIBTORCH\n"))

    def test_a_folder_that_is_not_empty_is_left_alone(self):
        refused = subprocess.run([ROOT / "tools/bundle", self.bundle], capture_output=True, text=True, check=False)
        self.assertEqual((refused.returncode, refused.stderr),
                         (1, f"exprun: tools/bundle: {self.bundle} is not empty: remove it first\n"))


if __name__ == "__main__":
    unittest.main()
