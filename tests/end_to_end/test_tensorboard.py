"""TensorBoard's own package reads what `[metrics] tensorboard = true` writes."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import ExprunTest

# Made once for the machine: pip takes half a minute.
ENVIRONMENT = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "exprun" / "tensorboard"
READER = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0}).Reload()
tags = events.Tags()
content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
kinds = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
content = events.summary_metadata["_hparams_/experiment"].plugin_data.content
experiment = plugin_data_pb2.HParamsPluginData.FromString(content).experiment
print(json.dumps({
    "metrics": [info.name.tag for info in experiment.metric_infos],
    "scalars": {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]},
    "texts": {tag: [[e.step, e.tensor_proto.string_val[0].decode()] for e in events.Tensors(tag)]
              for tag in tags["tensors"] if not tag.startswith("_hparams_")},
    "hparams": kinds}))
"""


def python_with_tensorboard(test):
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "complete").exists():
        for command in ([sys.executable, "-m", "venv", ENVIRONMENT],
                        [python, "-m", "pip", "install", "-q", "tensorboard==2.20.0", "setuptools<81"]):
            if subprocess.run(command, capture_output=True).returncode:
                test.skipTest("the package tensorboard could not be had")
        (ENVIRONMENT / "complete").touch()
    return python


class Tensorboard(ExprunTest):
    def test_scalars_texts_and_hyper_parameters_are_read_back(self):
        python = python_with_tensorboard(self)
        self.exprun("tiny.toml", "metrics.tensorboard=true", "metrics.every='10 steps'", "evaluation.val_loss.every='20 steps'",
                    "evaluation.sample.tokens=20")
        live = self.read(python, self.run_folder() / "tensorboard")
        self.exprun("export", "@last", "--tensorboard", "exported")
        for events in (live, self.read(python, self.folder / "exported" / self.run_folder().name)):
            self.check(events)

    def test_an_export_takes_the_place_of_an_earlier_one(self):
        self.exprun("tiny.toml", "steps=4")
        folder = self.folder / "exported" / self.run_folder().name
        files = []
        for _ in range(2):
            self.exprun("export", "@last", "--tensorboard", "exported")
            (file,) = folder.iterdir()
            files.append(file)
            self.exprun("resume", "@last", "run.steps=6")
        self.assertNotEqual(*files)
        self.assertIn(b"train/loss", files[1].read_bytes())

    def test_a_run_writes_one_file(self):
        """TensorBoard never goes back to an earlier file: of two that grow, one would stand still."""
        self.exprun("tiny.toml", "metrics.tensorboard=true", "metrics.system_every='0.02 s'")
        (file,) = (self.run_folder() / "tensorboard").iterdir()
        events = file.read_bytes()
        self.assertIn(b"train/loss", events)
        self.assertIn(b"system/load", events)

    def read(self, python, folder):
        read = subprocess.run([python, "-c", READER, folder], capture_output=True, text=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        return json.loads(read.stdout)

    def check(self, events):
        self.assertIn("system/load", events["scalars"])
        self.assertIn("val/loss", events["metrics"])
        for metric in events["metrics"]:  # what runs are compared by is there to compare
            self.assertIn(metric, events["scalars"])
        for series in ("train/loss", "lr", "grad_norm", "val/loss"):
            stored = self.rows("SELECT step, value FROM metrics WHERE name = ? ORDER BY step", series)
            self.assertEqual([step for step, _ in stored], [step for step, _ in events["scalars"][series]], series)
            for (_, expected), (_, value) in zip(stored, events["scalars"][series]):
                self.assertAlmostEqual(value, expected, delta=1e-6 * max(1, abs(expected)))
        ((step, text),) = events["texts"]["sample"]
        self.assertEqual(step, 40)
        self.assertEqual(text, next((self.run_folder() / "samples").iterdir()).read_text())
        self.assertEqual(events["hparams"]["optimizer.lr"], 0.01)
        self.assertEqual(events["hparams"]["optimizer.type"], "adamw")
        self.assertEqual(events["hparams"]["model.tie_embeddings"], True)


if __name__ == "__main__":
    unittest.main()
