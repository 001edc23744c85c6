"""Training on GPUs, where there are some: this machine's, as its driver counts them."""
import json
import subprocess
import unittest

from small_recipes import SMALL, run_small
from support import BUILD, ROOT, ExprunTest


def visible_gpus():
    """How many GPUs a trainer can use here; 0 where it does not start."""
    said = subprocess.run([BUILD / "exprun", "doctor", "--json"], capture_output=True, text=True, check=False).stdout
    gpu = json.loads(said)["gpu"]
    return len(gpu.get("gpus", [])) if gpu["training"] == "on GPUs" else 0


GPUS = visible_gpus()


@unittest.skipUnless(GPUS, "no GPU can be used here")
class OnGpus(ExprunTest):
    sees_gpus = True

    def losses(self, *words):
        self.exprun("tiny.toml", "--new", *words)
        return [value for (value,) in self.rows(
            "SELECT value FROM metrics WHERE name = 'train/loss' AND run = (SELECT max(run) FROM runs) ORDER BY step")]

    def test_the_engine_on_one_gpu(self):
        done = subprocess.run([BUILD / "gpu_tests"], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_losses_are_the_cpus(self):
        for gpu, cpu in zip(self.losses("run.device=cuda", "world_size=1"), self.losses("run.device=cpu")):
            self.assertAlmostEqual(gpu, cpu, delta=1e-3 * cpu)

    def test_every_small_recipe_trains_in_bf16(self):
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        for recipe in SMALL:
            with self.subTest(recipe=recipe.stem):
                run_small(self, recipe, "run.device=cuda", "precision.compute=bf16", "world_size=1")

    def test_the_run_says_which_gpu(self):
        self.losses("run.device=cuda", "world_size=1")
        ((libraries,),) = self.rows("SELECT content FROM blob JOIN attempt_blob ON blob = id WHERE kind = 'libraries'")
        gpu = json.loads(libraries)["gpu"]
        self.assertIn(gpu["uuid"], self.exprun("doctor").out)
        names = {name for (name,) in self.rows("SELECT DISTINCT name FROM series")}
        self.assertLessEqual({"system/torch_allocated_bytes", "system/torch_reserved_bytes", "system/torch_peak_bytes"}, names)

    @unittest.skipUnless(GPUS > 1, "a single GPU")
    def test_ranks_make_the_numbers_of_one(self):
        one = self.losses("run.device=cuda", "world_size=1")
        for strategy in ("ddp", "zero1"):
            for gpu, expected in zip(self.losses("run.device=cuda", "world_size=2", f"strategy={strategy}"), one):
                self.assertAlmostEqual(gpu, expected, delta=1e-4 * expected)


if __name__ == "__main__":
    unittest.main()
