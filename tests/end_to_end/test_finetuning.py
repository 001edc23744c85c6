"""Adapters and averaged weights through the commands: trained, evaluated, exported."""
import json
import struct
import unittest

from support import ExprunTest


def tensors(file):
    """{name: (shape, floats)} of a safetensors file in fp32."""
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
    return found


class FineTuning(ExprunTest):
    def checkpoint(self):
        return max(self.folder.glob("runs/tiny-*/checkpoints/step_*"))

    def last_val_loss(self):
        ((value,),) = self.rows("SELECT value FROM metrics WHERE name = 'val/loss' ORDER BY run DESC, step DESC LIMIT 1")
        return value

    def test_an_adapter_of_a_runs_weights_says_how_to_get_them(self):
        self.exprun("tiny.toml", "steps=4", "checkpoint.every=2 steps", "keep_last=9")
        run = self.run_folder().name
        self.exprun("tiny.toml", "steps=2", f"init_from=runs/{run}/checkpoints/step_00000002", "model.lora={rank=2, alpha=4}")
        self.exprun("export", "@last", "--huggingface", "adapter", "--adapter")
        card = (self.folder / "adapter/README.md").read_text()
        command = f"exprun export {run} --step 2 --huggingface DIR"
        self.assertIn(f"\nThe first weights are step 2 of the run `{run}`: `{command}` writes them to a folder for transformers.\n", card)
        self.exprun(*command.replace("DIR", "base").split()[1:])
        self.assertIn(" after 2 steps of training ", (self.folder / "base/README.md").read_text())

    def test_an_adapter_is_trained_and_goes_out_merged_or_alone(self):
        self.exprun("tiny.toml", "model.lora={rank=2, alpha=4}", "+evaluation.val_loss.every='40 steps'")
        self.assertEqual(self.state(), "finished")
        kept = tensors(self.checkpoint() / "model.safetensors")
        module = "blocks.0.attention.query_key_value"
        self.exprun("export", "tiny", "--huggingface", "merged")
        self.assertRegex((self.folder / "merged/README.md").read_text(), r" A LoRA adapter of rank \d+ is merged into them\. ")
        merged = tensors(self.folder / "merged/model.safetensors")
        self.assertFalse([name for name in merged if "lora" in name])
        self.exprun("export", "tiny", "--huggingface", "adapter", "--adapter")
        files = {path.name for path in (self.folder / "adapter").iterdir()} - {"MANIFEST.json"}
        self.assertEqual(files, {"README.md", "adapter_config.json", "adapter_model.safetensors"})
        card = (self.folder / "adapter/README.md").read_text()
        self.assertTrue(card.startswith("---\nlibrary_name: peft\n"))
        self.assertIn('PeftModel.from_pretrained(base, "path/of/this/folder")', card)
        self.assertIn("| val/loss | ", card)
        self.assertEqual(self.exprun("export", "tiny", "--huggingface", "other", "--adapter", "--dtype", "bf16", code=2).err,
                         "exprun: error: export: an adapter alone keeps its number format; leave out --dtype\n")
        config = json.loads((self.folder / "adapter/adapter_config.json").read_text())
        self.assertEqual((config["peft_type"], config["r"], config["lora_alpha"]), ("LORA", 2, 4))
        adapter = tensors(self.folder / "adapter/adapter_model.safetensors")
        self.assertEqual(len(adapter), 2 * len(config["target_modules"]))
        name = next(name for name in adapter if "c_attn.lora_A" in name or module + ".lora_A" in name)
        self.assertEqual(adapter[name], kept[module + ".lora_a"])

    def test_without_an_adapter_there_is_none_to_export(self):
        self.exprun("tiny.toml", "steps=1")
        refused = self.exprun("export", "tiny", "--huggingface", "adapter", "--adapter", code=2)
        self.assertIn("has no adapter: its recipe has no [model.lora]", refused.err)

    def test_weights_with_an_adapter_begin_a_model_without_one_once_they_are_merged(self):
        self.exprun("tiny.toml", "model.lora={rank=2}", "steps=2")
        run = self.run_folder().name
        advice = f"`exprun export {run} --step 2 --huggingface DIR` merges the adapter into the weights; then set model.init_from=DIR\n"
        plain = ("tiny.toml", "name=plain", "steps=1")
        for words in ["check", *plain], plain:
            said = self.exprun(*words, "init_from=tiny", code=2).err
            self.assertIn(f"\n  {advice}", said)
            self.assertNotIn("init_partial", said)
        said = self.exprun(*plain, "init_from=tiny", "init_partial=true").err
        self.assertIn(f"the training of the adapter in these weights is not used; {advice}", said)
        self.exprun("export", run, "--step", "2", "--huggingface", "merged")
        self.exprun("tiny.toml", "name=merged", "steps=1", "init_from=merged")

    def test_averages_are_evaluated_and_exported(self):
        self.exprun("tiny.toml", "run.ema=0.9", "+evaluation.val_loss.every='40 steps'")
        self.assertIn(f"{self.last_val_loss():.4f}"[:5], self.exprun("eval", "tiny").out)
        averages, weights = (tensors(self.checkpoint() / f"{name}.safetensors") for name in ("average", "model"))
        self.assertEqual(averages.keys(), weights.keys())
        self.exprun("export", "tiny", "--huggingface", "out")
        self.assertRegex((self.folder / "out/README.md").read_text(), r" The weights are moving averages with a decay of 0\.\d+\. ")
        exported = tensors(self.folder / "out/model.safetensors")
        ((_, norm),) = [value for name, value in exported.items() if name.endswith(("ln_f.weight", "final_norm.weight"))]
        self.assertEqual(norm, averages["final_norm.weight"][1])
        self.assertNotEqual(norm, weights["final_norm.weight"][1])
        said = self.exprun("tiny.toml", "name=warm", "steps=1", f"init_from={self.checkpoint()}", "lr=1e-30").err
        self.assertIn("(exprun, averages)", said)
        self.exprun("export", "warm", "--huggingface", "warm")
        warm = tensors(self.folder / "warm/model.safetensors")
        self.assertEqual([value for name, (_, value) in warm.items() if name.endswith(("ln_f.weight", "final_norm.weight"))], [norm])

    def test_a_fork_that_trains_other_weights_is_refused_where_only_the_average_differs(self):
        self.exprun("tiny.toml", "optimizer.type=sgd", "run.ema=0.9", "steps=6")
        said = self.exprun("fork", "tiny", "--step", "6", "run.steps=8", "frozen=[\"blocks.*\"]", code=2).err
        self.assertIn("\noptimizer state:\n  average of blocks.0.", said)
        self.assertIn("add --fresh-optimizer to take only the weights", said)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(1,)])

    def test_check_compares_the_weights_with_the_model(self):
        self.exprun("tiny.toml", "steps=2")
        weights = f"init_from={self.checkpoint()}"
        self.exprun("check", "tiny.toml", weights)
        said = self.exprun("check", "tiny.toml", weights, "hidden_size=32", code=2).err
        self.assertIn("and the model of the recipe differ in ", said)
        self.assertIn("'final_norm.weight' has the shape [16], not [32]", said)
        self.exprun("check", "tiny.toml", "init_from=elsewhere")

    def test_what_differs_from_a_run_is_told_at_the_key_that_names_it(self):
        self.exprun("tiny.toml", "steps=2", "activation=swiglu")
        text = (self.folder / "tiny.toml").read_text()
        self.write("tuned.toml", text.replace('type = "gpt"\n', 'type = "gpt"\ninit_from = "tiny"\n', 1))
        for command in (["check", "tuned.toml"], ["tuned.toml", "name=tuned"]):
            said = self.exprun(*command, "hidden_size=32", "bias=false", code=2).err
            self.assertIn("tuned.toml:9:13: error: weights: '" + str(self.checkpoint().relative_to(self.folder)), said)
            self.assertIn('\n  activation is "swiglu" there, "gelu" in the recipe\n  bias is true there, false in the recipe\n'
                          "  hidden_size is 16 there, 32 in the recipe\n", said)
            self.assertNotIn("automatic override", said)
        said = self.exprun("check", "tiny.toml", "init_from=tiny", "hidden_size=32", code=2).err
        self.assertIn("<override 1>:1:11: error: weights: ", said)

    def test_a_model_that_the_weights_mean_otherwise_is_told_at_the_key_that_names_them(self):
        self.exprun("tiny.toml", "steps=2", "activation=gelu_tanh")
        said = self.exprun("check", "tiny.toml", "init_from=tiny").err
        self.assertRegex(said, r"(?m)^<override 1>:1:11: warning: the weights of '\S+' were trained with model.activation = \"gelu_tanh\", not \"gelu\"$")

    def test_a_fork_begins_an_average_anew_where_it_is_of_other_weights(self):
        self.exprun("tiny.toml", "run.ema=0.9", "steps=6")
        self.exprun("fork", "tiny", "--step", "6", "run.steps=8", "checkpoint.keep_last=5", "run.ema=0", "name=without")
        self.exprun("fork", "tiny", "--step", "6", "run.steps=8", "checkpoint.keep_last=5", "--fresh-optimizer", "frozen=[\"blocks.*\"]", "name=part")
        averages = {(name, step): (max(self.folder.glob(f"runs/{name}-*/checkpoints/step_*{step}")) / "average.safetensors").exists()
                    for name in ("without", "part") for step in (6, 8)}
        self.assertEqual(averages, {("without", 6): False, ("without", 8): False, ("part", 6): False, ("part", 8): True})


if __name__ == "__main__":
    unittest.main()
