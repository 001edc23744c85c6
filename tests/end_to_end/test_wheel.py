"""tools/wheel: pip installs what it makes into a bare environment, and it trains there on the environment's torch."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from support import BUILD, ROOT

LIBTORCH = pathlib.Path((BUILD / "libtorch_folder").read_text().strip())
VERSION = (ROOT / "tools/setup/libtorch_version").read_text().strip()
SMALL = ("run.steps=5", "warmup=1 steps", "num_layers=1", "hidden_size=16", "context_length=16", "evaluation.val_loss.tokens=64",
         "evaluation.sample.tokens=4", "run.device=cpu")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="exprun-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        made = subprocess.run([ROOT / "tools/wheel", cls.top], capture_output=True, text=True, check=False,
                              env={**os.environ, "LIBTORCH": str(LIBTORCH)})
        assert made.returncode == 0, made.stdout + made.stderr
        (cls.wheel,) = cls.top.glob("*.whl")
        cls.environment = cls.top / "environment"
        subprocess.run([sys.executable, "-m", "venv", cls.environment], check=True)
        cls.put_torch_there()
        installed = subprocess.run([cls.environment / "bin/python", "-m", "pip", "install", "--no-index", cls.wheel],
                                   capture_output=True, text=True, check=False)
        assert installed.returncode == 0, installed.stdout + installed.stderr

    @classmethod
    def put_torch_there(cls):
        """The libraries that this build runs on, by the name that pip would install them under."""
        (packages,) = cls.environment.glob("lib/python3*/site-packages")
        (packages / "torch").symlink_to(LIBTORCH)
        if (LIBTORCH.parent / "nvidia").exists():
            (packages / "nvidia").symlink_to(LIBTORCH.parent / "nvidia")
        info = packages / f"torch-{VERSION}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n")
        (info / "INSTALLER").write_text("test\n")

    def exprun(self, *words):
        """As a shell of the environment finds it; neither Python nor this build is on the PATH."""
        return subprocess.run(["exprun", *words], cwd=self.top, capture_output=True, text=True, check=False,
                              env={"PATH": f"{self.environment}/bin", "HOME": str(self.top)})

    def test_a_new_recipe_trains_there(self):
        written = self.exprun("new", "mine")
        self.assertEqual(written.returncode, 0, written.stderr)
        trained = self.exprun("mine.toml", *SMALL)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("finished at step 5/5", trained.stderr)
        self.assertIn("mine-", self.exprun("ls").stdout)

    def test_its_programs_look_for_libraries_in_the_environment(self):
        whole = (ROOT / "tools/setup/wheel_rpath").read_text().strip()
        for program in sorted(self.environment.glob("bin/exprun*")):
            expected = whole.split(":")[0] if program.name == "exprun" else whole
            with self.subTest(program=program.name):
                dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
                self.assertEqual([line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "PATH)" in line], [expected])
                self.assertNotIn(str(ROOT).encode(), program.read_bytes())
        loaded = subprocess.run(["ldd", self.environment / "bin/exprun-trainer"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("not found", loaded)

    def test_it_brings_a_man_page_completion_and_recipes(self):
        for place in ("share/man/man1/exprun.1", "share/bash-completion/completions/exprun", "share/zsh/site-functions/_exprun",
                      "share/fish/vendor_completions.d/exprun.fish", "share/exprun/recipes/quickstart.toml"):
            self.assertTrue((self.environment / place).is_file(), place)

    def test_its_tag_and_requirement(self):
        self.assertRegex(self.wheel.name, r"^exprun-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
            self.assertIn(f"\nRequires-Dist: torch=={VERSION}\n", wheel.read(name).decode())


if __name__ == "__main__":
    unittest.main()
