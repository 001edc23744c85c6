"""Models that HuggingFace's transformers made, from `exprun new --from` to `exprun export --huggingface`, without it."""
import json
import shutil
import struct
import unittest

from byte_level import ALPHABET, write_chat_tokenizer
from support import ExprunTest, fixture

SMALL = ("steps=3", "batch.sequences=2", "tokenizer=byte", "warmup=1 steps", "evaluation.val_loss.tokens=64",
         "evaluation.sample.tokens=4", "threads=1")


def tensors(file):
    """Name to bytes of a safetensors file."""
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: data[8 + size:][slice(*entry["data_offsets"])] for name, entry in header.items()}


class HuggingFaceModels(ExprunTest):
    def test_a_recipe_for_an_export_reads_the_text_that_the_run_read(self):
        self.exprun("tiny.toml", "steps=2", "activation=gelu_tanh")
        self.exprun("export", "@last", "--huggingface", "mine")
        self.exprun("new", "tuned", "--from", "mine")
        self.assertIn('\npath = "text.txt" ', (self.folder / "tuned.toml").read_text())
        self.exprun("tuned.toml", "steps=2", "warmup=0 steps", "evaluation.sample.every=1 steps", "prompt=3 little")

    def test_a_recipe_for_an_export_says_that_the_text_of_the_run_is_not_here(self):
        """What else it reads; with a tokenizer of that text's characters no other text is read."""
        for tokenizer, path, instead in (
                ("char", "text.txt", "the recipe names it all the same, because the tokenizer knows only its characters; name another"),
                ("byte", "${libtorch}/include/ATen/**/*.h", "the recipe reads LibTorch's C++ headers instead; name a text")):
            with self.subTest(tokenizer=tokenizer):
                text = (self.folder / "text.txt").read_text()
                self.exprun("tiny.toml", "steps=2", "activation=gelu_tanh", "tokenizer=" + tokenizer)
                self.exprun("export", "@last", "--huggingface", tokenizer)
                (self.folder / "text.txt").unlink()
                said = self.exprun("new", "of_" + tokenizer, "--from", tokenizer).err
                self.assertIn(f"warning: new: the text of the exported run, 'text.txt', is not here; {instead} with --path FILE\n", said)
                self.assertNotIn("no file matches", said)
                self.assertIn(f'\npath = "{path}" ', (self.folder / f"of_{tokenizer}.toml").read_text())
                self.write("text.txt", text)

    def test_a_folder_is_trained_on_and_written_again(self):
        source = fixture(self, "parity/hf_gpt2/model")
        self.exprun("new", "tuned", "--from", source, "--path", "text.txt")
        result = self.exprun("tuned.toml", *SMALL)
        self.assertIn(f"loaded 40 tensors from '{source}' (gpt2)", result.err)
        said = self.exprun("export", "tuned", "--huggingface", "models/again")
        self.assertEqual(said.err, "exprun: wrote 40 tensors of step 3 to models/again (gpt2, fp32)\n")
        again = self.folder / "models/again"
        self.assertEqual({file.name for file in again.iterdir()},
                         {"MANIFEST.json", "README.md", "config.json", "generation_config.json", "model.safetensors",
                          "recipe.toml", "tokenizer.json", "tokenizer_config.json"})
        ours, theirs = tensors(again / "model.safetensors"), tensors(source / "model.safetensors")
        self.assertEqual(ours.keys(), theirs.keys())
        self.assertNotEqual(ours, theirs)
        wanted = json.loads((source / "config.json").read_text())
        written = json.loads((again / "config.json").read_text())
        for key in ("model_type", "n_embd", "n_head", "n_layer", "n_positions", "vocab_size", "layer_norm_epsilon",
                    "activation_function", "tie_word_embeddings"):
            self.assertEqual(written[key], wanted[key], key)
        card = (again / "README.md").read_text()
        for part in ("library_name: transformers", "after 3 steps", "| val/loss |", "`text.txt`",
                     f"Training began with the weights of `{source}`.", "```toml\n", "\n[model]\n",
                     "exprun export tuned --huggingface models/again"):
            self.assertIn(part, card)
        results = self.exprun("eval", "models/again", "evaluation.perplexity.path=text.txt").out
        self.assertRegex(results, r"\A(perplexity/\w+ \d+\.\d{4}\n)+\Z")  # rounded, and of no step

    def test_what_is_written_comes_back_to_the_bit(self):
        self.exprun("tiny.toml", "steps=2", "tokenizer=byte")
        self.exprun("export", "tiny", "--huggingface", "first")
        self.exprun("new", "again", "--from", "first", "--path", "text.txt")
        # Nothing is learned at a rate of almost 0.
        self.exprun("again.toml", "steps=1", "batch.sequences=1", "warmup=0 steps", "lr=1e-30", "weight_decay=0.0",
                    "evaluation.val_loss.tokens=8", "evaluation.sample.tokens=1")
        self.exprun("export", "again", "--huggingface", "second")
        self.assertEqual(tensors(self.folder / "first/model.safetensors"),
                         tensors(self.folder / "second/model.safetensors"))
        self.assertEqual((self.folder / "first/tokenizer.json").read_bytes(),
                         (self.folder / "second/tokenizer.json").read_bytes())

    def test_a_table_of_characters_comes_back(self):
        self.exprun("tiny.toml", "steps=2")
        self.exprun("export", "tiny", "--huggingface", "model")
        greedy = ("--prompt=7 little", "temperature=0", "tokens=9")
        self.assertEqual(self.exprun("sample", "model", *greedy).out, self.exprun("sample", "tiny", *greedy).out)
        self.exprun("new", "again", "--from", "model", "--path", "text.txt")
        self.exprun("again.toml", "steps=1", "batch.sequences=1", "warmup=0 steps", "evaluation.val_loss.tokens=8",
                    "evaluation.sample.tokens=1", "evaluation.sample.prompt=7")

    def test_a_model_of_no_architecture_has_names_of_its_own(self):
        self.exprun("tiny.toml", "steps=2", "tokenizer=byte", "activation=relu_squared")
        said = self.exprun("export", "tiny", "--huggingface", "own", "--dtype", "bf16")
        self.assertIn('transformers has no architecture for this model because of activation = "relu_squared"', said.err)
        self.assertFalse((self.folder / "own/config.json").exists())
        self.assertIn("- `activation = \"relu_squared\"`", (self.folder / "own/README.md").read_text())
        self.exprun("tiny.toml", "steps=2", "tokenizer=byte", "activation=relu_squared", "name=more", "init_from=own")

    def exported_chat_model(self, *words):
        """What `export` makes of GPT-2's shape with a tokenizer of Llama 3's kind, after some steps."""
        source = self.folder / "source"
        if not source.exists():
            shutil.copytree(fixture(self, "parity/hf_gpt2/model"), source)
            write_chat_tokenizer(source)
            config = json.loads((source / "config.json").read_text())
            (source / "config.json").write_text(json.dumps(config | {"bos_token_id": 256, "eos_token_id": [257, 260]}))
            self.exprun("new", "tuned", "--from", source, "--path", "text.txt")
        self.exprun("tuned.toml", "steps=2", "batch.sequences=2", "warmup=1 steps", "evaluation.val_loss.tokens=64",
                    "evaluation.sample.tokens=4", "threads=1", *words)
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        said = self.exprun("export", "@last", "--huggingface", "out").err
        return source, self.folder / "out", said

    def test_what_a_folder_says_of_its_tokenizer_comes_along(self):
        source, out, said = self.exported_chat_model()
        self.assertNotIn("warning", said)
        for name in "tokenizer.json", "special_tokens_map.json", "chat_template.jinja":
            self.assertEqual((out / name).read_bytes(), (source / name).read_bytes(), name)
        of_source, of_out = (json.loads((folder / "tokenizer_config.json").read_text()) for folder in (source, out))
        self.assertEqual(of_source.pop("auto_map"), {"AutoTokenizer": ["code.Tokenizer", None]})  # names code
        self.assertEqual(of_out, of_source)
        self.assertEqual(json.loads((out / "generation_config.json").read_text()),
                         json.loads((source / "generation_config.json").read_text()))
        config = json.loads((out / "config.json").read_text())
        self.assertEqual([config[f"{name}_token_id"] for name in ("bos", "eos")], [256, [257, 260]])
        (source / "tokenizer_config.json").write_text('{"a": 1, "a": 2}')
        said = self.exprun("export", "@last", "--huggingface", "again").err
        self.assertIn(f"warning: export: huggingface: '{source}/tokenizer_config.json' is damaged: it contains the key 'a' twice; no "
                      "chat template and special tokens were copied from beside the vocabulary\n", said)
        self.assertFalse((self.folder / "again/chat_template.jinja").exists())

    def test_files_of_other_programs_beside_a_vocabulary_do_not_matter(self):
        write_chat_tokenizer(self.folder)
        for name in "tokenizer_config.json", "generation_config.json", "special_tokens_map.json", "chat_template.jinja":
            (self.folder / name).unlink()
        (self.folder / "config.json").write_text("[1] // of another program")
        self.exprun("tiny.toml", "steps=2", "tokenizer=huggingface", "vocabulary=tokenizer.json")
        said = self.exprun("export", "@last", "--huggingface", "out").err
        self.assertNotIn("warning", said)
        self.assertEqual(json.loads((self.folder / "out/config.json").read_text())["eos_token_id"], 257)

    def test_code_that_a_tokenizer_names_goes_with_its_class(self):
        source, _, _ = self.exported_chat_model()
        config = json.loads((source / "tokenizer_config.json").read_text())
        (source / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": "Mine"}))
        self.exprun("export", "@last", "--huggingface", "again")
        written = json.loads((self.folder / "again/tokenizer_config.json").read_text())
        self.assertEqual((written["tokenizer_class"], "auto_map" in written), ("PreTrainedTokenizerFast", False))

    def test_a_vocabulary_of_two_files_that_has_changed_is_told(self):
        files = {"vocab.json": json.dumps({text: number for number, text in enumerate(ALPHABET)}), "merges.txt": "#version: 0.2\n"}
        (self.folder / "own").mkdir()
        for name, text in files.items():
            (self.folder / "own" / name).write_text(text)
        self.exprun("tiny.toml", "steps=2", "tokenizer=huggingface", "vocabulary=own")
        self.assertNotIn("warning", self.exprun("export", "@last", "--huggingface", "same").err)
        for change in (lambda file: file.write_text("#version: 0.3\n"), lambda file: file.unlink()):
            change(self.folder / "own/merges.txt")
            said = self.exprun("export", "@last", "--huggingface", "out").err
            self.assertIn("own' is gone or has changed since the data was prepared: its chat template and special tokens were not "
                          "copied\n", said)
            shutil.rmtree(self.folder / "out")

    def test_training_begins_documents_as_a_prompt_begins(self):
        source, _, _ = self.exported_chat_model()
        tokens = ("dataset.tokenizer=huggingface", f"vocabulary={source / 'tokenizer.json'}")
        self.write("few.txt", "one|two|three")
        self.exprun("data", "prepare", "tuned.toml", *tokens, "path=few.txt", "separator='|'", "validation_every=3", "--out", "few")
        shards = [(self.folder / "few" / shard["path"]).read_bytes()[1024:]
                  for split in ("train", "validation") for shard in json.loads((self.folder / "few/data.json").read_text())[split]]
        found = struct.unpack("<17H", b"".join(shards))
        self.assertEqual([(place, token) for place, token in enumerate(found) if token > 255],
                         [(0, 257), (1, 256), (5, 257), (6, 256), (10, 257), (11, 256)])

    def test_an_instruction_gets_nothing_that_its_template_does_not_write(self):
        self.write("text.jsonl", "".join(json.dumps({"prompt": str(n), "response": str(n)}) + "\n" for n in range(40)))
        source, _, _ = self.exported_chat_model()
        vocabulary = json.dumps(str(source / "tokenizer.json"))
        for template, code in ("plain", 2), ("llama3", 0):
            self.exported_chat_model(
                "--new", f"dataset={{type='instruction', path='text.jsonl', template='{template}', tokenizer='huggingface', "
                f"vocabulary={vocabulary}}}")
            said = self.exprun("sample", "@last", "--instruction", "--prompt", "", "tokens=1", code=code).err
            self.assertEqual("a prompt is empty" in said, template == "plain")  # without a token before it

    def test_without_its_folder_a_tokenizer_speaks_for_itself(self):
        source, out, _ = self.exported_chat_model()
        shutil.rmtree(out)
        (source / "tokenizer.json").unlink()
        said = self.exprun("export", "@last", "--huggingface", "out").err
        self.assertIn(f"warning: export: '{source}/tokenizer.json' is gone or has changed since the data was prepared: its chat "
                      "template and special tokens were not copied\n", said)
        self.assertFalse((out / "chat_template.jinja").exists())
        for name in "generation_config.json", "config.json":
            written = json.loads((out / name).read_text())
            self.assertEqual((written["bos_token_id"], written["eos_token_id"]), (256, 257), name)
        config = json.loads((out / "tokenizer_config.json").read_text())
        self.assertEqual((config["bos_token"], config["eos_token"]), ("<|begin_of_text|>", "<|end_of_text|>"))

    def test_generation_ends_where_the_template_of_the_examples_ends_a_response(self):
        self.write("text.jsonl", "".join(json.dumps({"prompt": str(n), "response": str(n)}) + "\n" for n in range(40)))
        source, _, _ = self.exported_chat_model()
        for template, said, ends in (("llama3", 257, [257, 260]), ("llama3", None, 260), ("llama3", [260, 257], [260, 257]),
                                     ("plain", 260, [260, 257])):
            with self.subTest(template=template, said=said):
                (source / "generation_config.json").write_text(json.dumps({"eos_token_id": said}))
                vocabulary = json.dumps(str(source / "tokenizer.json"))
                _, out, _ = self.exported_chat_model(
                    "--new", f"dataset={{type='instruction', path='text.jsonl', template='{template}', tokenizer='huggingface', "
                    f"vocabulary={vocabulary}}}")
                self.assertEqual(json.loads((out / "generation_config.json").read_text())["eos_token_id"], ends)

    def test_a_text_ends_at_every_token_that_the_folder_says(self):
        self.write("text.jsonl", (json.dumps({"prompt": "Hi", "response": "red"}) + "\n") * 20)
        source, out, _ = self.exported_chat_model()
        _, out, _ = self.exported_chat_model(
            "--new", "dataset={type='instruction', path='text.jsonl', template='llama3', tokenizer='huggingface', "
            f"vocabulary={json.dumps(str(source / 'tokenizer.json'))}}}", "steps=100", "lr=3e-3")
        prompt = "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
        words = (f"--prompt={prompt}", "temperature=0", "tokens=8", "--json")

        def found(*more):
            (text,) = json.loads(self.exprun("sample", *more, *words).out)
            return text["text"].split("<|eot_id|>")[0], text["end"]

        self.assertEqual(found("@last"), ("red", "end_of_text"))
        self.assertEqual(found("@last", "end_of_text=continue"), ("red", "tokens"))
        files = {name: json.loads((out / name).read_text()) for name in ("generation_config.json", "config.json", "tokenizer_config.json")}
        places = {"generation_config.json": {"eos_token_id": [257, 260]}, "config.json": {"eos_token_id": 260},
                  "tokenizer_config.json": {"eos_token": {"content": "<|eot_id|>"}}, "": {}}
        (out / "recipe.toml").unlink()  # its template says it too
        for place, says in places.items():
            for name, content in files.items():
                rest = {key: value for key, value in content.items() if not key.startswith("eos_token")}
                (out / name).write_text(json.dumps(rest | (says if name == place else {})))
            with self.subTest(place=place):
                self.assertEqual(found("out"), ("red", "end_of_text" if place else "tokens"))
                if place == "generation_config.json":
                    self.exprun("new", "more", "--from", "out", "--path", "text.txt")
                    self.exprun("more.toml", "steps=1", "batch.sequences=1", "warmup=0 steps", "lr=1e-30", "weight_decay=0.0",
                                "evaluation.val_loss.tokens=8", "evaluation.sample.tokens=1")
                    self.assertEqual(found("more"), ("red", "end_of_text"))

    def test_samples_of_a_training_run_begin_as_its_data_do(self):
        self.write("text.jsonl", "".join(json.dumps({"prompt": str(n), "response": str(n)}) + "\n" for n in range(40)))
        source, _, _ = self.exported_chat_model()
        vocabulary = json.dumps(str(source / "tokenizer.json"))
        for template in "plain", "llama3":
            data = f"dataset={{type='instruction', path='text.jsonl', template='{template}', tokenizer='huggingface', vocabulary={vocabulary}}}"
            with self.subTest(template=template):
                self.exported_chat_model("--new", data, "evaluation.sample.prompt=7", "evaluation.sample.temperature=1.0", "evaluation.sample.tokens=30")
                (sample,) = (self.run_folder() / "samples").iterdir()
                again = self.exprun("sample", "@last", "end_of_text=continue").out
                self.assertEqual(sample.read_text().rstrip("\n"), again.rstrip("\n"))
        said = self.exprun("tuned.toml", "--new", data.replace("llama3", "plain"), "evaluation.sample.prompt=", code=2).err
        self.assertIn("the prompt is empty", said)

    def test_another_step_goes_out_than_the_last(self):
        self.exprun("tiny.toml", "steps=6", "tokenizer=byte", "checkpoint.every=2 steps", "checkpoint.keep_last=5",
                    "+evaluation.val_loss.every=2 steps", "lr=0.4", "warmup=6 steps")  # a rate that is soon too large
        losses = dict(self.rows("SELECT step, value FROM metrics WHERE name = 'val/loss'"))
        step_of = {"4": 4, "last": 6, "best": min(losses, key=losses.get)}
        self.assertEqual(step_of["best"], 2)
        found = {}
        for word, step in step_of.items():
            said = self.exprun("export", "tiny", "--huggingface", word, "--step", word).err
            self.assertIn(f" tensors of step {step} to {word} ", said)
            found[word] = tensors(self.folder / word / "model.safetensors")["transformer.ln_f.weight"]
            kept = tensors(self.run_folder() / f"checkpoints/step_{step:08}/model.safetensors")
            self.assertEqual(found[word], kept["final_norm.weight"])
        self.assertEqual(len(set(found.values())), 3)

    def test_what_does_not_fit_is_refused(self):
        source = fixture(self, "parity/hf_gpt2/model")
        self.exprun("new", "tuned", "--from", source, "--path", "text.txt")
        said = self.exprun("tuned.toml", *SMALL, "hidden_size=32", code=2).err
        self.assertIn(f"'{source}' and the model of the recipe differ in 37 tensors:", said)
        self.assertIn("'transformer.wte.weight' has the shape [300,64], not [300,32]", said)
        self.assertIn("\n  hidden_size is 64 there, 32 in the recipe\n", said)
        swept = self.exprun("sweep", "tuned.toml", *SMALL, "num_layers=3,1", code=2).err
        self.assertIn("\n  num_layers is 3 there, 1 in the recipe\n", swept)
        self.assertNotIn("[1/2]", swept)  # no trial has begun
        self.assertIn(f"`exprun new --from {source}` writes a recipe for that folder", said)
        self.exprun("tiny.toml", "steps=2")
        for words, message in (
                (("--step", "7"), "tiny-{uid} has no checkpoint of step 7; it has those of"),
                (("--step", "worst"), "worst"),
                (("--dtype", "int8"), "export: there is no dtype 'int8'; it can be fp32, bf16 or fp16")):
            said = self.exprun("export", "tiny", "--huggingface", "out", *words, code=2).err
            self.assertIn(message.replace("{uid}", self.run_folder().name.removeprefix("tiny-")), said)
            self.assertFalse((self.folder / "out").exists())
        (self.folder / "out").mkdir()
        self.assertEqual(self.exprun("export", "tiny", "--huggingface", "out", code=2).err,
                         "exprun: error: export: out already exists; give another name\n")
        broken = self.folder / "broken"
        shutil.copytree(source, broken)
        data = (broken / "model.safetensors").read_bytes()
        (broken / "model.safetensors").unlink()
        (broken / "model.safetensors").write_bytes(data[:-1])
        self.assertIn("is damaged or not a safetensors file: the offsets of",
                      self.exprun("tuned.toml", *SMALL, f"init_from={broken}", code=2).err)


if __name__ == "__main__":
    unittest.main()
