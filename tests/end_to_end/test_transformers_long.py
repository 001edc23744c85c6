"""transformers itself, from PyPI: models with random weights come in with the logits and gradients that it computes, go
out with the same logits there, what `exprun export` writes of a run is loaded by it, tokenizer and all, and an adapter by
peft."""
import os
import pathlib
import subprocess
import sys
import unittest

from support import BUILD, ROOT, ExprunTest, fixture

PACKAGES = ("transformers==5.23.0", "safetensors", "numpy")
PEFT = ("--no-deps", "peft==0.21.2", "accelerate", "psutil")  # they ask for a torch of their own
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "exprun/transformers-5.23.0"
SCRIPT = ROOT / "tests/support/transformers_models.py"
LLAMA = ("position.type=rotary", "norm.type=rms_norm", "activation=swiglu", "bias=false", "num_key_value_heads=1")
LOADED = """
import sys, transformers
folder, prompt = sys.argv[1:]
model, loading = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
assert not any(loading.values()), loading
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
assert tokenizer.decode(ids[0]) == prompt, tokenizer.decode(ids[0])
print(type(model).__name__, ids.shape[1], tokenizer.decode(model.generate(ids, max_new_tokens=8, do_sample=False)[0]))
"""
ADAPTED = """
import sys, torch, transformers, peft
base, adapter, merged = sys.argv[1:]
load = transformers.AutoModelForCausalLM.from_pretrained
ids = torch.arange(1, 33)[None]
model = load(base).eval()
plain, whole = model(ids).logits.detach().clone(), load(merged).eval()(ids).logits
adapted = peft.PeftModel.from_pretrained(model, adapter).eval()(ids).logits
print((adapted - whole).abs().max().item(), (adapted - plain).abs().max().item())
"""


def transformers_python():
    """A Python with the pinned torch, and the folder of packages beside it; None where they cannot be had."""
    torch = subprocess.run([ROOT / "tools/setup/torch_python"], capture_output=True, text=True, timeout=1800)
    if torch.returncode:
        return None
    if not (CACHE / "complete-with-peft").exists():
        steps = ([sys.executable, "-m", "venv", "--clear", CACHE],
                 [CACHE / "bin/python", "-m", "pip", "install", "-q", *PACKAGES],
                 [CACHE / "bin/python", "-m", "pip", "install", "-q", *PEFT])
        if any(subprocess.run(step, capture_output=True, timeout=1800).returncode for step in steps):
            return None
        (CACHE / "complete-with-peft").touch()
    return torch.stdout.strip(), str(next(CACHE.glob("lib/python*/site-packages")))


class Transformers(ExprunTest):
    def setUp(self):
        super().setUp()
        found = transformers_python()
        if found is None:
            self.skipTest("torch and transformers cannot be installed")
        self.python, packages = found
        self.environment = {**os.environ, "PYTHONPATH": packages, "HF_HUB_OFFLINE": "1"}

    def call(self, *words, **variables):
        result = subprocess.run(list(map(str, words)), env={**self.environment, **variables}, capture_output=True,
                                text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_random_models_come_in_and_go_out(self):
        models = self.folder / "models"
        models.mkdir()
        self.call(self.python, SCRIPT, "make", models)
        self.call(BUILD / "engine_weights", "-tc=transformers*", EXPRUN_TRANSFORMERS_MODELS=str(models))
        print(self.call(self.python, SCRIPT, "compare", models), end="")

    def test_a_run_is_loaded_with_its_tokenizer(self):
        self.write("text.txt", "The sea is wide, and \u00e9t\u00e9 is short.\n" * 100)
        for name, changes, expected in (("bytes", ("tokenizer=byte",), "GPT2LMHeadModel 14 "),
                                        ("characters", ("tokenizer=char", *LLAMA), "LlamaForCausalLM 12 ")):
            with self.subTest(name=name):
                self.exprun("tiny.toml", "steps=2", "context_length=32", f"name={name}", *changes)
                self.exprun("export", name, "--huggingface", name, "--dtype", "bf16")
                loaded = self.call(self.python, "-c", LOADED, self.folder / name, "The \u00e9t\u00e9 sea.")
                self.assertTrue(loaded.startswith(expected), loaded)

    def test_an_adapter_is_loaded_by_peft(self):
        base = fixture(self, "parity/hf_gpt2/model")
        self.exprun("new", "tuned", "--from", base, "--path", "text.txt")
        self.exprun("tuned.toml", "steps=20", "batch.sequences=2", "tokenizer=byte", "warmup=1 steps", "lr=1e-2",
                    "evaluation.val_loss.tokens=64", "~evaluation.sample", "model.lora={rank=4, alpha=8}")
        self.exprun("export", "tuned", "--huggingface", "merged")
        self.exprun("export", "tuned", "--huggingface", "adapter", "--adapter")
        off, learned = map(float, self.call(self.python, "-c", ADAPTED, base, self.folder / "adapter", self.folder / "merged").split())
        print(f"adapter: logits off by {off:.1e} from the merged, {learned:.2f} from the base")
        self.assertLess(off, 1e-5)
        self.assertGreater(learned, 0.1)


if __name__ == "__main__":
    unittest.main()
