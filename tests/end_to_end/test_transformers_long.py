"""transformers itself, from PyPI: models with random weights come in with the logits and gradients that it computes,
train as they do there and go out with the same logits; it sees in a text what exprun sees, and loads what `exprun export`
writes of a run, tokenizer, chat template and all, as peft loads an adapter."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from byte_level import ALPHABET_BYTES, CHAT_TOKENS, write_chat_tokenizer
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
# A folder of an instruct model with random weights, beside the tokenizer that is in it already.
INSTRUCT = """
import sys, torch, transformers
folder, kind = sys.argv[1:]
sizes = dict(vocab_size=272, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, intermediate_size=96, bos_token_id=256, eos_token_id=[257, 260], pad_token_id=261)
rope = {"rope_type": "llama3", "rope_theta": 1000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}
config = {"llama": lambda: transformers.LlamaConfig(**sizes, rope_parameters=rope),
          "qwen3": lambda: transformers.Qwen3Config(**sizes, head_dim=16)}[kind]()
torch.manual_seed(3)
model = transformers.AutoModelForCausalLM.from_config(config)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)
model.save_pretrained(folder)
"""
# What transformers sees in a text and writes after a prompt, and what it took from the folder.
SEEN = """
import json, sys, torch, transformers
folder, text, prompt = sys.argv[1:]
model, loading = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
assert not any(loading.values()), loading
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
ids = tokenizer(text, return_tensors="pt")["input_ids"]
start = tokenizer(prompt, return_tensors="pt")
written = model.generate(**start, max_new_tokens=12, do_sample=False)[0, start["input_ids"].shape[1]:]
chat = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
settings = model.generation_config
print(json.dumps({"first": ids[0, 0].item(), "loss": model(ids, labels=ids).loss.item(),
                  "written": b"".join(BYTES[id] for id in written.tolist()).decode(errors="replace"),
                  "chat": chat, "eos": settings.eos_token_id, "bos": settings.bos_token_id, "pad": settings.pad_token_id}))
"""
CHAT = """
import json, sys, transformers
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps(tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True)))
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


def one_for_torn(text):
    """Torn characters, for which there are more or fewer replacement characters, each as one."""
    return re.sub("\ufffd+", "\ufffd", text)


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

    def test_a_chat_is_written_as_the_examples_of_a_run_are(self):
        self.write("text.jsonl", "".join(json.dumps({"prompt": str(n), "response": str(n)}) + "\n" for n in range(40)))
        for template in "plain", "alpaca", "chatml", "llama3":
            with self.subTest(template=template):
                self.exprun("tiny.toml", "steps=2", "context_length=256", f"name={template}",
                            f"dataset={{type='instruction', path='text.jsonl', template='{template}', tokenizer='byte'}}")
                self.exprun("export", template, "--huggingface", f"{template}_out")
                (asked,) = json.loads(self.exprun("sample", template, "--instruction", "--prompt=Hi", "tokens=1", "--json").out)
                written = self.call(self.python, "-c", CHAT, self.folder / f"{template}_out")
                self.assertEqual(json.loads(written), asked["prompt"])

    def seen(self, folder, text):
        tokens = [*(bytes([byte]) for byte in ALPHABET_BYTES), *(token.encode() for token in CHAT_TOKENS), *[b"\xff"] * 10]
        return json.loads(self.call(self.python, "-c", f"BYTES = {tokens}\n{SEEN}", folder, text, "The sea"))

    def greedy(self, weights):
        said = self.exprun("sample", weights, "--prompt=The sea", "temperature=0", "tokens=12", "--json").out
        return one_for_torn(json.loads(said)[0]["text"])

    def perplexity_loss(self, weights):
        found = json.loads(self.exprun("eval", weights, "--json", "evaluation.perplexity.path=short.txt").out)
        return found["metrics"]["perplexity/loss"]

    def test_instruct_models_go_through_the_commands(self):
        text = "The sea is wide, and e\u0301te\u0301 is short."
        self.write("short.txt", text)
        self.write("text.txt", text * 100)
        for kind in "llama", "qwen3":
            with self.subTest(kind=kind):
                source = self.folder / kind
                source.mkdir()
                self.call(self.python, "-c", INSTRUCT, source, kind)
                write_chat_tokenizer(source, {"type": "NFC"} if kind == "qwen3" else None)
                before = self.seen(source, text)
                self.assertEqual((before["first"], before["eos"], before["bos"], before["pad"]), (256, [257, 260], 256, 261))
                self.assertAlmostEqual(self.perplexity_loss(source), before["loss"], delta=1e-5)
                self.assertEqual(self.greedy(source), one_for_torn(before["written"]))

                self.exprun("new", f"{kind}_tuned", "--from", source, "--path", "text.txt")
                self.exprun(f"{kind}_tuned.toml", "steps=5", "batch.sequences=2", "warmup=1 steps", "lr=1e-2",
                            "evaluation.val_loss.tokens=64", "~evaluation.sample")
                self.exprun("export", f"{kind}_tuned", "--huggingface", f"{kind}_out")
                after = self.seen(self.folder / f"{kind}_out", text)
                self.assertLess(after["loss"], before["loss"] - 0.1)
                for weights in f"{kind}_tuned", f"{kind}_out":
                    self.assertAlmostEqual(self.perplexity_loss(weights), after["loss"], delta=1e-5)
                    self.assertEqual(self.greedy(weights), one_for_torn(after["written"]))
                for key in "chat", "eos", "bos", "pad":
                    self.assertEqual(after[key], before[key], key)
                self.assertEqual(after["chat"], "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>")

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
