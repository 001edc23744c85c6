"""Fine-tuning data: records of instructions are trained on, shown and refused with their place."""
import json
import os
import re
import shlex
import shutil
import unittest

from support import TINY, ExprunTest

RECIPE = TINY.replace('path = "text.txt"\ntokenizer = "char"', 'path = "examples.jsonl"\ntemplate = "chatml"') \
             .replace('type = "text"', 'type = "instruction"').replace("context_length = 16", "context_length = 96")


class Instruction(ExprunTest):
    def setUp(self):
        super().setUp()
        self.write_records(self.records(60))
        self.write("ft.toml", RECIPE)

    def write_records(self, records):
        self.write("examples.jsonl", "".join(json.dumps(record) + "\n" for record in records))

    @staticmethod
    def records(count):
        return [{"instruction": f"Add {n} and {n}.", "output": str(2 * n)} for n in range(count)]

    def test_examples_are_trained_on(self):
        self.write_records([*self.records(59), {"instruction": "Tell a long story." * 20, "output": "No."}])
        ended = self.exprun("ft.toml", "validation_every=10")
        self.assertIn("54 examples in ", ended.err)
        losses = [value for (value,) in self.rows("SELECT value FROM metrics WHERE name = 'train/loss' ORDER BY step")]
        self.assertEqual(len(losses), 40)
        self.assertLess(losses[-1], losses[0] - 1)
        self.assertEqual(self.state(), "finished")

    def test_a_length_in_epochs_is_as_many_steps_as_all_programs_say(self):
        """An epoch is as many sequences as the examples are packed into."""
        def planned(epochs):
            return json.loads(self.exprun("check", "ft.toml", "~run.steps", f"run.length={epochs} epochs", "--json").out)["plan"]["steps"]

        before = planned(2)
        ended = self.exprun("ft.toml", "~run.steps", "run.length=2 epochs")
        sequences = int(re.search(r" examples in (\d+) sequences", ended.err)[1])
        self.assertEqual(self.rows("SELECT last_step, steps FROM runs"), [(before, before)])
        self.assertEqual(before, round(2 * sequences / 4))
        self.assertIn(f"finished at step {before}/{before}", ended.err)
        self.assertEqual(planned(2), before)
        self.assertIn(f"{before} updates", self.exprun("show", "ft.toml", "~run.steps", "run.length=2 epochs", "--schedule").out)
        (words,) = re.findall(r"\n  exprun (resume \S+ 'run\.length=4 epochs')  ", ended.err)  # what its end advises
        self.exprun(*shlex.split(words))
        self.assertEqual(self.rows("SELECT last_step, steps FROM runs"), [(planned(4), planned(4))])
        self.exprun("fork", "@last", "lr=1e-3", "run.length=5 epochs")
        self.assertEqual(self.rows("SELECT last_step, steps FROM runs WHERE run = 2"), [(planned(5), planned(5))])

    def test_a_step_takes_no_more_than_an_epoch(self):
        sequences = json.loads(self.exprun("check", "ft.toml", "--json").out)["examples"].split(" in ")[1].split()[0]
        said = self.exprun("check", "ft.toml", f"sequences={int(sequences) + 1}", "micro_batch=1").err
        self.assertIn(" tokens, more than the training data has\n", said)
        self.assertIn(f" tokens: use more data, or batch.sequences = {sequences} or less\n", said)
        self.assertNotIn("more than", self.exprun("check", "ft.toml", f"sequences={sequences}", "micro_batch=1").err)

    def test_to_evaluate_no_token_to_train_on_is_needed(self):
        self.exprun("ft.toml", "steps=2", "validation_every=10")
        value = self.exprun("eval", "@last").out
        self.assertIn("val/loss", value)
        (tokens,) = self.folder.glob("runs/data/*/train_000000.bin")
        tokens.unlink()
        self.assertEqual(self.exprun("eval", "@last").out, value)
        self.assertFalse(tokens.exists())

    def test_check_says_of_examples_what_a_run_says(self):
        self.write_records([*self.records(50), *[{"instruction": "Tell a long story." * 20, "output": "No."}] * 10])
        words = "ft.toml", "too_long=drop", "validation_fraction=0"
        before = self.exprun("check", *words)
        said = re.search(r"50 examples in \d+ sequences; 10 examples dropped: longer than 96 tokens, or without a response; "
                         r"sequences of \d+ tokens hold all of them whole\n", self.exprun(*words, "steps=1").err)[0]
        checked = self.exprun("check", *words)
        self.assertIn(f"\n  examples     {said}", before.out)
        self.assertEqual(checked.err, before.err)
        self.assertIn(f"\n  examples     {said}", checked.out)
        self.assertIn("<override 1>:1:10: warning: 10 of 60 examples are dropped: they do not fit into sequences of 96 tokens\n"
                      "    too_long=drop\n             ^^^^ longer ones keep them ", checked.err)
        self.assertEqual(json.loads(self.exprun("check", *words, "--json").out)["examples"] + "\n", said)
        shorter = self.exprun("check", *words, "context_length=80").out
        self.assertIn("longer than 80 tokens", shorter)
        (segments,) = self.folder.glob("runs/data/*/*.segments")
        written = segments.stat()
        segments.write_bytes(segments.read_bytes()[:-4] + bytes(4))
        os.utime(segments, ns=(written.st_atime_ns, written.st_mtime_ns))
        checked = self.exprun("check", *words, "--json", code=1)
        self.assertIn("prepared data: the segments of the examples ", json.loads(checked.out)["plan_error"])

    def test_a_first_recipe_has_room_for_the_examples(self):
        for length, context, sequences in (20, 128, 16), (300, 512, 4), (5000, 2048, 4):
            self.write_records([{"instruction": "Say it.", "output": "x" * length}] * 40)
            self.exprun("new", f"for_{length}", "--data", "instruction", "--path", "examples.jsonl")
            shown = self.exprun("show", f"for_{length}.toml").out
            self.assertIn(f"\ncontext_length = {context}\n", shown)
            self.assertIn(f"\nsequences = {sequences}\n", shown)
        self.exprun("new", "elsewhere", "--data", "instruction", "--path", "nothing.jsonl")
        self.assertIn("\ncontext_length = 1024", (self.folder / "elsewhere.toml").read_text())

    def test_the_examples_of_a_step_are_shown(self):
        self.exprun("ft.toml", "steps=2", "validation_fraction=0", "sequences=50")
        shown = self.exprun("data", "head", "--run", "tiny", "--step", "1").out
        self.assertEqual(shown.count("==> sample"), 50)
        self.assertEqual(shown.count("<|im_start|>assistant\n"), 50)

    def test_an_instruction_is_asked_as_the_examples_are_and_its_response_alone_is_shown(self):
        self.write_records([{"instruction": f"Say {word}.", "output": word} for word in ("red", "blue") for _ in range(30)])
        self.exprun("ft.toml", "steps=250", "lr=1e-2", "validation_every=10")
        words = ("sample", "@last", "temperature=0", "tokens=40")
        for word in "red", "blue":
            asked = self.exprun(*words, "--instruction", "--prompt", f"Say {word}.")
            self.assertEqual(asked.out, f"Say {word}.\n{word}\n")
            prompt = f"<|im_start|>user\nSay {word}.<|im_end|>\n<|im_start|>assistant\n"
            whole = self.exprun(*words, "--prompt", prompt).out
            self.assertEqual(whole, f"{prompt}{word}\n")
            whole = self.exprun(*words, "--prompt", prompt, "end_of_text=continue").out
            self.assertTrue(whole.startswith(f"{prompt}{word}<|im_end|>"), whole)
        self.exprun(*words, "--instruction", "--prompt", "")  # the template is not empty
        found = json.loads(self.exprun(*words, "--instruction", "--prompt=Say red.", "--json").out)
        self.assertEqual(found, [{"prompt": "<|im_start|>user\nSay red.<|im_end|>\n<|im_start|>assistant\n", "text": "red",
                                  "end": "stop_text"}])

    def test_a_run_shows_how_it_responds_to_an_instruction(self):
        self.write_records([{"instruction": f"Say {word}.", "output": word} for word in ("red", "blue") for _ in range(30)])
        self.exprun("ft.toml", "steps=250", "lr=1e-2", "validation_every=10", "evaluation.sample.instruction=Say blue.",
                    "evaluation.sample.temperature=0", "evaluation.sample.every=100 steps")
        samples = sorted((self.run_folder() / "samples").glob("step_*.txt"))
        self.assertEqual(len(samples), 3)
        self.assertRegex(samples[-1].read_text(), r"(^|\n)Say blue\.\nblue\n?$")
        self.assertEqual(self.exprun("sample", "@last").out, "Say blue.\nblue\n")
        self.assertEqual(self.exprun("sample", "@last", "instruction=Say red.").out, "Say red.\nred\n")
        self.assertEqual(self.exprun("sample", "@last", "--instruction", "--prompt", "Say red.").out, "Say red.\nred\n")
        prompt = "<|im_start|>user\nSay red.<|im_end|>\n<|im_start|>assistant\n"
        self.assertEqual(self.exprun("sample", "@last", "--prompt", prompt).out, f"{prompt}red\n")
        self.assertEqual(self.exprun("sample", "@last", f"prompt={json.dumps(prompt)}").out, f"{prompt}red\n")
        self.exprun("sample", "@last", "--prompt", prompt, "instruction=Say red.", code=2)
        self.write("again.toml", self.exprun("show", "ft.toml", "evaluation.sample.instruction=Say blue.").out)
        self.assertIn("no mistakes", self.exprun("check", "again.toml").out)

    def test_an_instruction_may_follow_a_system_message(self):
        systems = {"Shout.": "RED", "Whisper.": "red"}
        self.write_records([{"messages": [{"role": "system", "content": system}, {"role": "user", "content": "Say red."},
                                          {"role": "assistant", "content": word}]} for system, word in systems.items() for _ in range(30)])
        self.exprun("ft.toml", "context_length=128", "steps=250", "lr=1e-2", "validation_every=10", "evaluation.sample.instruction=Say red.",
                    "evaluation.sample.system=Shout.", "evaluation.sample.temperature=0")
        (written,) = (self.run_folder() / "samples").iterdir()
        self.assertEqual(written.read_text(), "Say red.\nRED")
        self.assertEqual(self.exprun("sample", "@last").out, "Say red.\nRED\n")
        for system, word in systems.items():
            asked = ("sample", "@last", "--instruction", "--prompt", "Say red.", f"system={system}")
            self.assertEqual(self.exprun(*asked).out, f"Say red.\n{word}\n")
            (found,) = json.loads(self.exprun(*asked, "--json").out)
            self.assertEqual(found["prompt"], f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\nSay red.<|im_end|>\n"
                                              "<|im_start|>assistant\n")
        for setting in "system=Shout.", "+system=Shout.":
            self.assertEqual(self.exprun("sample", "@last", "--prompt", "red", setting, code=2).err,
                             "exprun: error: sample: a system message stands before an instruction; add --instruction\n")
        self.exprun("export", "@last", "--huggingface", "model")
        (asked,) = json.loads(self.exprun("sample", "model", "--instruction", "--prompt", "Say red.", "--json").out)
        self.assertIn("\nShout.", asked["prompt"])

    def test_an_unknown_character_of_a_system_message_is_not_blamed_on_the_prompt(self):
        self.exprun("ft.toml", "steps=2", "tokenizer=char")
        said = self.exprun("sample", "@last", "--instruction", "--prompt", "Add 1", "system=Q", code=2).err
        self.assertRegex(said, r"^<override 1>:1:8: error: the system message contains 'Q', which the tokenizer does not know\n"
                               r"    system=Q\n           \^ [^\n]*\n$")
        said = self.exprun("sample", "@last", "--instruction", "--prompt", "Add 1", "system=A", code=2).err
        self.assertRegex(said, r" error: the template contains 'y', which the tokenizer does not know\n")  # of its "system"

    def test_a_first_recipe_shows_a_response(self):
        self.exprun("new", "first", "--data", "instruction", "--path", "examples.jsonl")
        self.assertRegex((self.folder / "first.toml").read_text(), r'\[evaluation\.sample\].*\n(#.*\n)*instruction = "Name three colors\."')
        self.exprun("first.toml", "steps=2", "hidden_size=16", "num_layers=1", "num_heads=2", "warmup=1 steps", "evaluation.sample.tokens=4")
        (sample,) = (self.run_folder() / "samples").iterdir()
        self.assertIn("Name three colors.\n", sample.read_text())

    def test_an_export_ends_where_its_template_ends_a_response(self):
        self.exprun("ft.toml", "steps=2", "template=plain", "tokenizer=byte")
        self.exprun("export", "@last", "--huggingface", "plain")
        self.assertEqual(json.loads((self.folder / "plain/generation_config.json").read_text())["eos_token_id"], 0)
        self.exprun("ft.toml", "steps=2", "tokenizer=byte")
        said = self.exprun("export", "@last", "--huggingface", "chatml").err
        self.assertIn("a response ends with the text '<|im_end|>' (template \"chatml\"), for which the vocabulary has no "
                      "token: other programs do not stop there\n", said)

    def test_an_export_is_asked_as_its_examples_were(self):
        self.write_records([{"instruction": f"Say {word}.", "output": word} for word in ("red", "blue") for _ in range(30)])
        self.exprun("ft.toml", "steps=250", "lr=1e-2", "validation_every=10")
        self.exprun("export", "@last", "--huggingface", "out")
        self.assertEqual(json.loads((self.folder / "out/tokenizer_config.json").read_text())["chat_template"],
                         '{% for message in messages %}{{ "<|im_start|>" + message["role"] + "\\n" + message["content"] + '
                         '"<|im_end|>\\n" }}{% endfor %}{% if add_generation_prompt %}{{ "<|im_start|>assistant\\n" }}{% endif %}')
        self.assertIn("\nIt was trained on instructions in the template `chatml`. This is the prompt for one of them:\n\n```text\n"
                      "<|im_start|>user\nName three colors.<|im_end|>\n<|im_start|>assistant\n```\n",
                      (self.folder / "out/README.md").read_text())
        for word in "red", "blue":
            asked = self.exprun("sample", "out", "--instruction", "--prompt", f"Say {word}.", "temperature=0", "tokens=40")
            self.assertEqual(asked.out, f"Say {word}.\n{word}\n")
        self.write("plain.txt", "Say red. Say blue.\n" * 20)
        self.assertIn("perplexity", self.exprun("eval", "out", "evaluation.perplexity.path=plain.txt").out)
        asked = ("evaluation.sample.instruction=Say red.", "evaluation.sample.temperature=0")
        self.assertIn("\nSay red.\nred", self.exprun("eval", "out", *asked).out)
        self.exprun("new", "more", "--from", "out", "--data", "instruction", "--path", "examples.jsonl")
        self.assertRegex((self.folder / "more.toml").read_text(), r'\ntemplate = "chatml" ')

    def test_an_export_tells_how_its_run_generates_text(self):
        def generation_config():
            return json.loads((self.folder / "out/generation_config.json").read_text())

        shown = ("evaluation.sample.instruction=Say red.", "evaluation.sample.tokens=20")
        self.exprun("ft.toml", "steps=20", *shown, "evaluation.sample.temperature=0", "evaluation.sample.top_k=5")
        self.exprun("export", "@last", "--huggingface", "out")
        self.assertEqual({key: value for key, value in generation_config().items() if "token" not in key}, {"do_sample": False})
        asked = ("--instruction", "--prompt", "Say red.", "tokens=20", "seed=1")
        by_run = self.exprun("sample", "@last", *asked).out
        self.assertEqual(self.exprun("sample", "out", *asked).out, by_run)
        self.assertNotEqual(self.exprun("sample", "out", *asked, "temperature=2").out, by_run)
        shutil.rmtree(self.folder / "out")
        self.exprun("ft.toml", "steps=20", *shown, "evaluation.sample.temperature=1.5", "evaluation.sample.top_p=0.9")
        self.exprun("export", "@last", "--huggingface", "out")
        self.assertEqual({key: value for key, value in generation_config().items() if "token" not in key},
                         {"do_sample": True, "temperature": 1.5, "top_k": 200, "top_p": 0.9})
        chosen = [self.exprun("sample", "out", *asked, *words).out for words in ((), ("temperature=1.5", "top_p=0.9"), ("top_p=1",))]
        self.assertEqual(chosen[0], chosen[1])
        self.assertNotEqual(chosen[0], chosen[2])

    def test_a_template_that_the_tokenizer_cannot_write_is_refused_at_its_key(self):
        self.write("text.toml", TINY)
        self.exprun("text.toml", "steps=2")
        self.exprun("export", "@last", "--huggingface", "characters")
        self.exprun("new", "tuned", "--from", "characters", "--data", "instruction", "--path", "examples.jsonl")
        said = (r"the tokenizer lacks a character that template \"plain\" writes: U\+0000 is not one of the \d+ "
                r"characters that the tokenizer knows\n    template=plain\n")
        for command in ("check", "tuned.toml"), ("tuned.toml",):
            self.assertRegex(self.exprun(*command, "template=plain", code=2).err, r"^<override 1>:1:10: error: " + said)

    def test_a_record_that_is_wrong_is_named(self):
        self.write_records([*self.records(2), {"instruction": "Go."}])
        for command in ("check", "ft.toml"), ("ft.toml",):
            refused = self.exprun(*command, code=2)
            self.assertIn("error: record 3 of 'examples.jsonl' (line 3) has no field 'output'; it has 'instruction'", refused.err)
            self.assertIn("ft.toml:", refused.err)

    def test_check_says_that_it_did_not_measure_many_examples(self):
        said = "not checked before the data has been prepared: whether its examples fit sequence_length\n"
        self.assertNotIn(said, self.exprun("check", "ft.toml").out)
        self.write_records([{"instruction": "Go on." * 200, "output": "Yes."}] * 4000)
        self.assertIn(said, self.exprun("check", "ft.toml").out)

    def test_sequences_without_room_for_a_response_are_refused(self):
        said = (r"<override 1>:1:17: error: 'sequence_length' is 16, but the shortest validation prompt with its template has (\d+) tokens\n"
                r"    sequence_length=16\n {20}\^\^ choose a length of at least \1 \((\d+) holds every example\), or a template that adds less\n")
        self.assertRegex(self.exprun("check", "ft.toml", "sequence_length=16", code=2).err, said)  # nothing is prepared
        refused = self.exprun("ft.toml", "sequence_length=16", code=2).err
        self.assertRegex(refused, said)
        self.assertFalse((self.folder / "runs").exists())
        self.exprun("data", "prepare", "ft.toml")
        self.assertRegex(self.exprun("check", "ft.toml", "sequence_length=16", code=2).err, said)
        least, every = map(int, re.search(said, refused).groups())
        self.exprun("ft.toml", f"sequence_length={least - 1}", code=2)
        self.exprun("ft.toml", f"sequence_length={least}", "validation_fraction=0", "steps=1")
        for length in every, every - 1:
            run = self.exprun("ft.toml", f"sequence_length={length}", "too_long=drop", "validation_fraction=0", "steps=1")
            self.assertEqual("dropped" in run.err, length < every, run.err)


if __name__ == "__main__":
    unittest.main()
