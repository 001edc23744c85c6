"""tools/bench/gpu_speed waits for a GPU; that it runs through is seen on a CPU."""
import subprocess
import unittest

from support import ROOT, ExprunTest


class GpuSpeed(ExprunTest):
    def test_it_runs_through_on_a_cpu(self):
        done = subprocess.run([ROOT / "tools/bench/gpu_speed", "--device", "cpu", "--steps", "7", "--micro-batch", "2,4"],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        for line, start in zip(lines, ("fp32  micro-batch   2 ", "fp32  micro-batch   4 ", "bf16  micro-batch   2 ", "bf16  micro-batch   4 ")):
            self.assertRegex(line, rf"^{start} +[0-9.]+ ms +[0-9,]+ tokens/s")


if __name__ == "__main__":
    unittest.main()
