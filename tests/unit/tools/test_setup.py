"""tools/exprun: when it builds, which LibTorch it takes, and what it says."""
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERSION = (ROOT / "tools/setup/libtorch_version").read_text().strip()
SOURCES = ["CMakeLists.txt", "tools/cmake/x.cmake", "runner/base/hash.cpp", "schemas/run.schema.json", "store/store.cpp"]


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="exprun-setup-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def libtorch(self, name, version):
        major, minor, patch = version.split(".")
        self.write(f"{name}/lib/libtorch_cpu.so")
        self.write(f"{name}/include/torch/headeronly/version.h", f"#define TORCH_VERSION_MAJOR {major}\n"
                   f"#define TORCH_VERSION_MINOR {minor}\n#define TORCH_VERSION_PATCH {patch}\n")
        return str(self.folder / name)

    def run_tool(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items() if name not in ("LIBTORCH", "Torch_DIR")}
        return subprocess.run(words, capture_output=True, text=True, cwd=self.folder, env={**kept, **environment})


class Building(InAFolder):
    """A small tree with the real tools/exprun, whose set-up only leaves a mark."""

    def setUp(self):
        super().setUp()
        for name in SOURCES:
            self.write(name)
        shutil.copy(ROOT / "tools/exprun", self.folder / "tools/exprun")
        (self.folder / "tools/setup").mkdir()
        for name in ("up_to_date", "given_libtorch", "wants_cuda"):
            shutil.copy(ROOT / "tools/setup" / name, self.folder / "tools/setup" / name)
        libtorch = self.libtorch("libtorch", VERSION)
        self.script("tools/setup/all", f'cd "$(dirname "$0")/../.." && echo "{libtorch}" >build/.made && echo built')
        self.script("build/exprun", 'echo "exprun: $*"')
        self.script("build/exprun-trainer", "")
        self.exprun()

    def script(self, name, text):
        self.write(name, f"#!/bin/sh\n{text}\n").chmod(0o755)

    def exprun(self, *words, **environment):
        result = self.run_tool("tools/exprun", *words, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def assert_builds_once(self):
        self.assertEqual(self.exprun("ls"), "built\nexprun: ls\n")
        self.assertEqual(self.exprun("ls"), "exprun: ls\n")

    def test_arguments_pass_through_unchanged(self):
        self.assertEqual(self.exprun("a recipe.toml", "lr=1e-3"), "exprun: a recipe.toml lr=1e-3\n")

    def test_an_edited_source_is_built(self):
        for name in SOURCES:
            with self.subTest(name):
                self.assertEqual(self.exprun("ls"), "exprun: ls\n")
                time.sleep(0.02)  # file times have ticks
                os.utime(self.folder / name)
                self.assert_builds_once()

    def test_a_removed_source_is_noticed(self):
        time.sleep(0.02)
        (self.folder / "runner/base/hash.cpp").unlink()
        self.assert_builds_once()

    def test_edited_tests_build_nothing(self):
        time.sleep(0.02)
        self.write("tests/unit/base/hash_test.cpp")
        self.assertEqual(self.exprun("ls"), "exprun: ls\n")

    def test_a_lost_libtorch_is_got_again(self):
        (self.folder / "libtorch/lib/libtorch_cpu.so").rename(self.folder / "libtorch/lib/elsewhere.so")
        self.assertEqual(self.exprun("ls"), "built\nexprun: ls\n")

    def test_another_libtorch_is_built_against(self):
        other = self.libtorch("other", VERSION)
        self.assertEqual(self.exprun("ls", LIBTORCH=other), "built\nexprun: ls\n")
        self.assertEqual(self.exprun("ls", Torch_DIR=other + "/share/cmake/Torch"), "built\nexprun: ls\n")
        self.assertEqual(self.exprun("ls", LIBTORCH=str(self.folder / "libtorch")), "exprun: ls\n")

    def test_a_link_to_it_works(self):
        (self.folder / "bin").mkdir()
        (self.folder / "bin/exprun").symlink_to(self.folder / "tools/exprun")
        self.assertEqual(self.run_tool("bin/exprun", "ls").stdout, "exprun: ls\n")


class TakingLibTorch(InAFolder):
    def take(self, **environment):
        result = self.run_tool(ROOT / "tools/setup/libtorch", EXPRUN_NO_INSTALL="1",
                               XDG_CACHE_HOME=str(self.folder / "cache"), **environment)
        return result.returncode, result.stdout, result.stderr.replace(str(self.folder), "HERE")

    def test_an_explicit_folder_comes_first(self):
        given = self.libtorch("mine", VERSION)
        self.assertEqual(self.take(LIBTORCH=given), (0, given + "\n", ""))
        self.assertEqual(self.take(Torch_DIR=given + "/share/cmake/Torch"), (0, given + "\n", ""))

    def test_an_explicit_folder_without_libtorch_is_an_error(self):
        self.assertEqual(self.take(LIBTORCH="/nowhere"), (1, "", "exprun: no LibTorch in /nowhere "
                                                         "(lib/libtorch_cpu.so): mend or unset LIBTORCH, Torch_DIR\n"))

    def test_an_explicit_folder_of_another_version_is_an_error(self):
        given = self.libtorch("old", "2.6.0")
        self.assertEqual(self.take(LIBTORCH=given), (1, "", f"exprun: LibTorch in HERE/old is version 2.6.0, {VERSION} "
                                                     "is needed: unset LIBTORCH, Torch_DIR to have it fetched\n"))

    def with_python(self, script):
        """A PATH on which python3 is this script."""
        self.write("bin/python3", f"#!/bin/sh\n{script}\n").chmod(0o755)
        return f"{self.folder}/bin:{os.environ['PATH']}"

    def test_an_importable_torch_of_the_version_comes_second(self):
        torch = self.libtorch("site-packages/torch", VERSION)
        path = self.with_python(f"echo {torch}")
        code, out, err = self.take(PATH=path)
        self.assertEqual((code, out), (0, torch + "\n"))
        self.assertIn(f"LibTorch {VERSION} is the torch of ", err)

    def test_an_importable_torch_of_another_version_is_passed_over(self):
        torch = self.libtorch("site-packages/torch", "2.6.0")
        code, out, err = self.take(PATH=self.with_python(f"echo {torch}"))
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"exprun: LibTorch {VERSION} is missing: it would be put into HERE/cache/exprun/", err)

    def test_the_cache_comes_last(self):
        name = f"libtorch-{VERSION}" + ("-cuda" if glob.glob("/dev/nvidia[0-9]*") else "")
        cached = self.libtorch(f"cache/exprun/{name}/torch", VERSION)
        self.assertEqual(self.take(PATH=self.with_python("exit 1")), (0, cached + "\n", ""))


class FindingCudaHeaders(InAFolder):
    def setUp(self):
        super().setUp()
        self.torch = self.libtorch("wheels/torch", VERSION)

    def find(self, *words, said=""):
        result = self.run_tool(ROOT / "tools/setup/cuda_headers", self.torch, *words, EXPRUN_NO_INSTALL="1",
                               XDG_CACHE_HOME=str(self.folder / "cache"))
        self.assertEqual((result.returncode, result.stderr), (0, said))
        return result.stdout.replace(str(self.folder), "HERE")

    def headers(self, folder, nccl=None):
        for name in ("crt/host_defines.h", "nv/target"):
            self.write(f"{folder}/cu13/include/{name}")
        version = zip(("MAJOR", "MINOR", "PATCH"), (nccl or self.pinned("nccl")).split("."))
        self.write(f"{folder}/nccl/include/nccl.h", "".join(f"#define NCCL_{part} {n}\n" for part, n in version))

    def pinned(self, name):
        return (ROOT / f"tools/setup/{name}_version").read_text().strip()

    def test_a_libtorch_for_cpus_needs_none(self):
        self.headers("wheels/nvidia")
        self.assertEqual(self.find(), "")

    def test_those_beside_libtorch_come_before_the_caches(self):
        self.write("wheels/torch/lib/libtorch_cuda.so")
        cached = f"cache/exprun/cuda-{self.pinned('cuda')}-nccl-{self.pinned('nccl')}-headers"
        self.assertEqual(self.find("--get"), "")  # EXPRUN_NO_INSTALL
        self.headers(cached)
        self.assertEqual(self.find(), f"HERE/{cached}\n")
        self.headers("wheels/nvidia", nccl="2.27.3")
        self.assertEqual(self.find(), f"HERE/{cached}\n")
        self.headers("wheels/nvidia")
        self.assertEqual(self.find(), "HERE/wheels/nvidia\n")

    def test_a_libtorch_for_another_cuda_is_refused_with_what_to_do(self):
        self.headers("wheels/nvidia")
        self.write("wheels/torch/lib/libtorch_cuda.so")
        for cudart in ("libcudart.so.12", "libcudart-d0da41ae.so.12.8"):
            self.write("wheels/torch/lib/libc10_cuda.so", f"\0libc10.so\0{cudart}\0")
            self.assertEqual(self.find(said=f"exprun: exprun-trainer-cuda is not built: LibTorch in {self.torch} is for CUDA 12, "
                                       "exprun for CUDA 13; unset LIBTORCH and Torch_DIR, and tools/exprun gets the one of "
                                       "PyPI, which is\n"), "")
        self.write("wheels/torch/lib/libc10_cuda.so", "\0libcudart.so.13\0")
        self.assertEqual(self.find(), "HERE/wheels/nvidia\n")


class CompileJobs(InAFolder):
    """As many compilers as there is memory for, in a container too."""

    def jobs(self, limit):
        self.write("memory.max", f"{limit}\n")
        script = self.write("ask.cmake", f"include({ROOT}/tools/cmake/compile_jobs.cmake)\n"
                            "get_property(pools GLOBAL PROPERTY JOB_POOLS)\nmessage(${pools})\n")
        result = self.run_tool("cmake", f"-Dcontrol_group={self.folder}", "-P", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        return int(result.stderr.strip().removeprefix("compile="))

    def test_a_container_has_room_for_fewer(self):
        for limit in (1, 1 << 30, 4 << 30):
            self.assertEqual(self.jobs(limit), 1)
        unlimited = self.jobs("max")
        self.assertEqual(self.jobs((1 << 63) - 4096), unlimited)
        self.assertEqual(self.jobs(6 << 30), min(unlimited, 2))


class InstallingPackages(InAFolder):
    """The real tools/setup/packages as root of a distribution that has everything installed but mold, which it lacks."""

    def setUp(self):
        super().setUp()
        self.program("dpkg-query", 'case "$*" in *mold*) exit 1 ;; *) printf installed ;; esac')
        self.program("apt-cache", "")
        self.program("id", "echo 0")
        self.program("apt-get", f'echo "$*" >>{self.folder}/asked')

    def program(self, name, script):
        self.write(f"bin/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)

    def install(self):
        result = self.run_tool(ROOT / "tools/setup/packages", "build", PATH=f"{self.folder}/bin:{os.environ['PATH']}",
                               XDG_CACHE_HOME=str(self.folder / "cache"))
        return result.returncode, result.stderr

    def test_what_the_distribution_lacks_is_asked_for_once(self):
        self.assertEqual(self.install(), (0, "exprun: installing mold (to build exprun)\n"
                                          "exprun: this distribution has no mold: fetched or done without\n"))
        self.assertEqual(self.install(), (0, ""))
        self.assertEqual((self.folder / "asked").read_text().count("update"), 1)

    def test_it_is_asked_for_again_where_the_lists_could_not_be_read(self):
        self.program("apt-get", '[ "$2" != update ]')
        self.install()
        self.assertIn("installing mold", self.install()[1])


if __name__ == "__main__":
    unittest.main()
