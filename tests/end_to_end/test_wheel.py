"""tools/wheel: pip installs what it makes into a bare environment, and it trains there on the environment's torch. Here
that is LibTorch by its name; test_wheel_long.py has pip bring torch itself."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from support import BUILD, ROOT, TIMEOUT

LIBTORCH = pathlib.Path((BUILD / "libtorch_folder").read_text().strip())
VERSION = (ROOT / "tools/setup/libtorch_version").read_text().strip()


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="exprun-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.run_there([ROOT / "tools/wheel", cls.top], env={**os.environ, "LIBTORCH": str(LIBTORCH)})
        (cls.wheel,) = cls.top.glob("*.whl")
        cls.environment = cls.top / "environment"
        cls.run_there([sys.executable, "-m", "venv", cls.environment])
        cls.install()
        for python in cls.environment.glob("bin/python*"):
            python.unlink()

    @classmethod
    def run_there(cls, command, **more):
        done = subprocess.run(command, cwd=cls.top, capture_output=True, text=True, check=False, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    @classmethod
    def pip(cls, *words):
        return cls.run_there([cls.environment / "bin/python", "-m", "pip", *words])

    @classmethod
    def install(cls):
        cls.put_torch_there()
        cls.pip("install", "--no-index", cls.wheel)

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
        """As a shell of the environment finds it. Nothing else is on the PATH: no Python, which was taken away, and not this build."""
        return self.run_there(["exprun", *words], timeout=TIMEOUT, env={
            "PATH": f"{self.environment}/bin", "HOME": str(self.top), "CUDA_VISIBLE_DEVICES": ""})

    def test_a_new_recipe_trains_there_as_it_is_written(self):
        self.assertIsNone(shutil.which("python3", path=f"{self.environment}/bin"))
        self.exprun("new", "mine")
        self.assertIn("finished at step 200/200", self.exprun("mine.toml").stderr)
        self.assertIn("mine-", self.exprun("ls").stdout)

    def test_the_program_for_gpus_is_there_if_it_was_built(self):
        built, there = BUILD / "exprun-trainer-cuda", self.environment / "bin/exprun-trainer-cuda"
        self.assertEqual(there.exists(), built.exists())

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
