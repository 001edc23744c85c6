"""CPU or GPU: what is said where GPUs are asked for and cannot be had. The driver is one that stands in for NVIDIA's."""
import glob
import json
import subprocess
import unittest

from support import BUILD, ExprunTest

CUDA_PROGRAM = BUILD / "exprun-trainer-cuda"


def libraries(program):
    """What a program is linked with."""
    listed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return [line.split("[")[1].rstrip("]") for line in listed.splitlines() if "(NEEDED)" in line]


def starts():
    """Whether the CUDA libraries that LibTorch wants are here."""
    return subprocess.run([CUDA_PROGRAM, "--version"], capture_output=True, check=False).returncode == 0


class WithDriver(ExprunTest):
    def run_with(self, *words, code=0, **environment):
        with self.fake_driver(**environment):
            return self.exprun(*words, code=code)

    def refusal(self, *words, **environment):
        result = self.run_with("tiny.toml", *words, code=2, **environment)
        self.assertFalse((self.folder / "runs").exists())
        return result.err

    def test_no_driver(self):
        self.assertEqual(self.refusal("run.device=cuda", FAKE_NVML_WITHOUT_DRIVER="1"),
                         "<override 1>:1:12: error: this machine has no NVIDIA driver\n    run.device=cuda\n"
                         "               ^^^^ run.device=cpu trains on the CPU\n")

    def test_an_old_driver_is_named_with_what_is_needed(self):
        self.assertEqual(self.refusal("run.device=cuda", FAKE_NVML_OLD_DRIVER="1"),
                         "<override 1>:1:12: error: NVIDIA driver 535.104.05 supports CUDA up to 12.2, "
                         "but exprun-trainer-cuda needs 13.0\n    run.device=cuda\n"
                         "               ^^^^ install a newer driver; run.device=cpu trains on the CPU\n")

    def test_no_gpu_that_may_be_used(self):
        self.assertIn("error: there is no GPU that this process may use (CUDA_VISIBLE_DEVICES is '7')\n",
                      self.refusal("run.device=cuda", CUDA_VISIBLE_DEVICES="7"))

    def test_of_a_gpu_that_is_cut_a_run_sees_one_instance(self):
        for visible in ({}, {"CUDA_VISIBLE_DEVICES": "MIG-33333333-cccc"}, {"CUDA_VISIBLE_DEVICES": "0,1"}):
            said = json.loads(self.run_with("doctor", "--json", FAKE_NVML_CUT="1", **visible).out)["gpu"]
            self.assertEqual(said["gpus"], ["NVIDIA Fake 80GB, 80.0 GiB, GPU-11111111-aaaa"])
        self.assertIn("error: 2 ranks need a GPU each, but only one can be used\n",
                      self.refusal("run.device=cuda", "world_size=2", FAKE_NVML_CUT="1"))

    def test_a_gpu_that_is_named_twice_leaves_none(self):
        self.assertIn("error: there is no GPU that this process may use (CUDA_VISIBLE_DEVICES is '1,1')\n",
                      self.refusal("run.device=cuda", CUDA_VISIBLE_DEVICES="1,1"))

    def test_a_run_says_which_gpus_it_could_use(self):
        self.run_with("tiny.toml", "run.device=cpu", CUDA_VISIBLE_DEVICES="GPU-2222")
        said = self.exprun("show", "@last").out
        self.assertIn("NVIDIA Fake 80GB GPU-11111111-aaaa, hidden from the run\n", said)
        self.assertRegex(said, r"NVIDIA Old GPU-2222[^,\n]*\n")
        self.assertIn("CUDA_VISIBLE_DEVICES GPU-2222", said)

    def test_more_ranks_than_gpus(self):
        self.assertIn("error: 4 ranks need a GPU each, but only 2 can be used\n", self.refusal("run.device=cuda", "world_size=4"))

    def test_auto_goes_on_on_the_cpu_and_says_why(self):
        result = self.run_with("tiny.toml", FAKE_NVML_OLD_DRIVER="1")
        self.assertIn("exprun: warning: gpu: NVIDIA driver 535.104.05 supports CUDA up to 12.2, "
                      "but exprun-trainer-cuda needs 13.0: the run trains on the CPU\n", result.err)
        self.assertEqual(self.state(), "finished")

    def test_check_only_warns(self):
        result = self.run_with("check", "tiny.toml", "run.device=cuda", FAKE_NVML_OLD_DRIVER="1")
        self.assertIn("warning: NVIDIA driver 535.104.05 supports CUDA up to 12.2", result.err)
        self.assertIn("no mistakes", result.out)

    def test_doctor_says_where_runs_train(self):
        said = json.loads(self.run_with("doctor", "--json").out)["gpu"]
        self.assertEqual(said["gpus"][0], "NVIDIA Fake 80GB, 80.0 GiB, GPU-11111111-aaaa")
        self.assertEqual(said["training"], "on GPUs")
        said = json.loads(self.run_with("doctor", "--json", FAKE_NVML_OLD_DRIVER="1").out)["gpu"]
        self.assertTrue(said["training"].startswith("on the CPU: NVIDIA driver 535.104.05 "), said)


class CudaProgram(ExprunTest):
    def test_it_is_built_and_alone_has_cuda(self):
        self.assertTrue(CUDA_PROGRAM.exists(), "tools/setup/all did not build exprun-trainer-cuda")
        self.assertIn("libtorch_cuda.so", libraries(CUDA_PROGRAM))
        self.assertFalse([name for name in libraries(BUILD / "exprun-trainer") if "cuda" in name])

    def test_where_its_libraries_are_missing_the_run_says_so(self):
        if starts():
            self.skipTest("CUDA's libraries are here")
        with self.fake_driver():
            result = self.exprun("tiny.toml", "run.device=cuda", "world_size=1", code=127)
        self.assertIn("error while loading shared libraries: ", result.err)
        self.assertEqual(self.rows("SELECT state, message FROM runs"), [
            ("failed", "exprun-trainer-cuda did not start: a library that it needs is missing; tools/exprun gets "
             "LibTorch with CUDA where it sees a GPU, or give LIBTORCH, and run.device=cpu trains on the CPU")])

    def test_without_a_driver_it_starts_and_says_so(self):
        if not starts():
            self.skipTest("CUDA's libraries are not here")
        if glob.glob("/dev/nvidia[0-9]*"):
            self.skipTest("this machine has a GPU")
        version = subprocess.run([CUDA_PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(json.loads(version)["cuda"], "13.0")
        with self.fake_driver():
            result = self.exprun("tiny.toml", "run.device=cuda", "world_size=1", code=2)
        self.assertIn("error: gpu: this machine has no NVIDIA driver; install one, or train with run.device=cpu\n", result.err)


if __name__ == "__main__":
    unittest.main()
