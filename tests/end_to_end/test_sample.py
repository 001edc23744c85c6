"""`exprun sample`: texts appear while they are written, after one prompt or several, or after what is typed."""
import json
import os
import pty
import select
import signal
import subprocess
import time
import unittest

from shells import has_terminals
from support import BUILD, TIMEOUT, ExprunTest
from terminals import Terminal

GREEDY = ("temperature=0", "tokens=20")


class Sample(ExprunTest):
    def setUp(self):
        super().setUp()
        self.exprun("tiny.toml", "lr=3e-2", "steps=150", "tokenizer=byte")

    def greedy(self, prompt, run="@last"):
        return self.exprun("sample", run, "--prompt", prompt, *GREEDY).out

    def test_several_prompts_are_answered_in_order_as_each_alone(self):
        prompts = "7 little ", "went out to "
        several = self.exprun("sample", "@last", *(f"--prompt={prompt}" for prompt in prompts), *GREEDY, "samples=2").out
        alone = [self.greedy(prompt) for prompt in prompts]
        self.assertEqual(several, "---\n".join(text for text in alone for _ in range(2)))

    def test_text_at_standard_input_is_prompts_only_where_it_is_asked_for(self):
        hint = "exprun: sample: standard input is not read; to take prompts from it, add --prompts -\n"
        alone = self.exprun("sample", "@last", *GREEDY)
        self.assertEqual(alone.err, "")
        beside = self.exprun("sample", "@last", *GREEDY, stdin="7 little \n")
        self.assertEqual((beside.out, beside.err), (alone.out, hint))
        asked = self.exprun("sample", "@last", "--prompts", "-", *GREEDY, stdin="7 little \n")
        self.assertEqual((asked.out, asked.err), (self.greedy("7 little "), ""))
        reading, writing = os.pipe()
        os.write(writing, b"7 little ")  # and nobody closes it
        piped = self.finish(self.start("sample", "@last", *GREEDY, stdin=reading))
        self.assertEqual((piped.out, piped.err), (alone.out, hint))
        os.close(reading)
        os.close(writing)

    def test_texts_that_are_drawn_differ_from_each_other_and_not_from_run_to_run(self):
        words = ("sample", "@last", "--prompt=1", "temperature=1.5", "tokens=30", "samples=3")
        text = self.exprun(*words).out
        self.assertEqual(len(set(text.split("\n---\n"))), 3)
        self.assertEqual(self.exprun(*words).out, text)

    def test_a_stop_text_ends_a_text_and_is_left_out(self):
        whole = self.greedy("7 little ")
        self.assertIn("sea", whole)
        stopped = self.exprun("sample", "@last", "--prompt=7 little ", *GREEDY, 'stop=["never", "sea"]').out
        self.assertEqual(stopped, whole[:whole.index("sea")] + "\n")
        for wrong in 'stop=[""]', "stop=[3]":
            self.assertIn("stop", self.exprun("sample", "@last", wrong, code=2).err)

    def test_text_beyond_the_context_goes_on_as_the_model_sees_its_end(self):
        text = self.exprun("sample", "@last", "--prompt=1", "temperature=0", "tokens=60").out  # 16 are seen at once
        self.assertEqual(len(text.encode()), 62)

    def test_what_is_written_appears_at_once(self):
        process = subprocess.Popen([BUILD / "exprun", "sample", "@last", "--prompt=7", "tokens=100000000"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            begun = b""
            while len(begun) < 30:
                self.assertTrue(select.select([process.stdout], [], [], TIMEOUT)[0])
                begun += os.read(process.stdout.fileno(), 4096)
            self.assertTrue(begun.startswith(b"7"))
            self.assertIsNone(process.poll())
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT)
        self.assertNotEqual(process.returncode, 0)
        late = time.monotonic() + TIMEOUT
        while self.trainers() and time.monotonic() < late:
            time.sleep(0.05)
        self.assertEqual(self.trainers(), [])

    def trainers(self):
        """Of this test, by their working directory."""
        found = []
        for entry in os.scandir("/proc"):
            try:
                if entry.name.isdigit() and os.readlink(f"/proc/{entry.name}/cwd") == str(self.folder) and \
                        "exprun-trainer" in os.readlink(f"/proc/{entry.name}/exe"):
                    found.append(entry.name)
            except OSError:  # it has just ended
                pass
        return found

    @unittest.skipUnless(has_terminals(), "there are no pseudo-terminals")
    def test_at_a_terminal_prompts_are_asked_for(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execv(BUILD / "exprun", ["exprun", "sample", "@last", *GREEDY])
        shown = b""

        def read_until(text, count=1):
            nonlocal shown
            late = time.monotonic() + TIMEOUT
            while shown.count(text) < count and time.monotonic() < late:
                if select.select([terminal], [], [], 0.1)[0]:
                    shown += os.read(terminal, 4096)
            self.assertEqual(shown.count(text), count, shown)

        try:
            read_until(b"> ")
            for number, prompt in enumerate(("7 little ", "went out to "), 1):
                os.write(terminal, prompt.encode() + b"\n")
                read_until(b"> ", number + 1)
                self.assertIn(self.greedy(prompt).replace("\n", "\r\n").encode() + b"> ", shown)
            os.write(terminal, b"\x04")  # Ctrl-D
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        finally:
            os.close(terminal)

    def test_ctrl_c_ends_a_text_and_at_the_prompt_the_program(self):
        shown = Terminal(self, "sample", "@last", "tokens=1000000", errors=None)
        shown.wait_for_lines(r"Ctrl-C stops a text, Ctrl-D ends\n> ")
        os.write(shown.terminal, b"7 little \n")
        shown.wait_for_lines(r"> 7 little \n7 little .{20}")
        os.killpg(shown.process.pid, signal.SIGINT)  # as Ctrl-C does
        shown.wait_for_lines(r"(?s)7 little .{20}.*\n> $")
        before = shown.lines().count("went out to ")
        os.write(shown.terminal, b"went out to \n")
        shown.wait_for_lines(r"> went out to \nwent out to .{20}")
        self.assertGreater(shown.lines().count("went out to "), before + 1)
        os.killpg(shown.process.pid, signal.SIGINT)  # as Ctrl-C does
        shown.wait_for_lines(r"(?s)\nwent out to .{20}.*\n> $")
        os.killpg(shown.process.pid, signal.SIGINT)  # as Ctrl-C does
        self.assertEqual(shown.process.wait(TIMEOUT), -signal.SIGINT)

    def test_the_folder_of_a_checkpoint_means_its_run_and_step(self):
        folder = self.run_folder()
        self.assertEqual(self.greedy("7 little ", f"runs/{folder.name}/checkpoints/step_00000150"), self.greedy("7 little "))

    def test_prompts_come_from_a_file_or_standard_input_a_line_each(self):
        self.write("prompts.txt", "7 little \r\n\nwent out to ")
        alone = "---\n".join(self.greedy(prompt) for prompt in ("7 little ", "went out to "))
        self.assertEqual(self.exprun("sample", "@last", "--prompts", "prompts.txt", *GREEDY).out, alone)
        self.assertEqual(self.exprun("sample", "@last", "--prompts", "prompts.txt", *GREEDY).err,
                         "exprun: sample: skipped one empty line of prompts.txt\n")
        piped = self.exprun("sample", "@last", "--prompts", "-", *GREEDY, stdin="7 little \nwent out to \n")
        self.assertEqual(piped.out, alone)
        self.assertEqual(self.exprun("sample", "@last", "--prompts=-", code=2, stdin="\n").err,
                         "exprun: error: sample: there are no prompts in standard input\n")

    def test_a_prompt_with_an_unknown_character_is_named_by_its_place(self):
        self.exprun("tiny.toml", "steps=1", "name=characters")
        self.exprun("export", "characters", "--huggingface", "model")
        self.exprun("tiny.toml", "steps=1", "name=vocabulary", "tokenizer=huggingface", "dataset.vocabulary=model/tokenizer.json")

        def said(place, text="ZZ"):
            return (f"{place}:1: error: the prompt contains 'Z', which the tokenizer does not know\n    {text}\n    "
                    f"{'^' * len(text)} it knows only the characters of the text that it was made from\n")
        self.write("prompts.txt", "7\r\n\nZZ\r\n1\nsea Z\n")
        for run in "characters", "vocabulary", "model":
            for words in ("--prompt", "ZZ"), ("--prompt", "7", "--prompt", "ZZ"):
                self.assertEqual(self.exprun("sample", run, *words, code=2).err, said("--prompt:1"))
            for form in (), ("--json",):
                result = self.exprun("sample", run, "--prompts", "prompts.txt", *GREEDY, *form, code=2)
                self.assertEqual(result.out, "")
                self.assertEqual(result.err, "exprun: sample: skipped one empty line of prompts.txt\n" +
                                 said("prompts.txt:3") + said("prompts.txt:5", "sea Z"))
            self.assertEqual(self.exprun("sample", run, "--prompts=-", code=2, stdin="7\nZZ\n").err, said("standard input:2"))

    def test_json_has_each_text_and_why_it_ended(self):
        words = ("sample", "@last", "--prompt=7 little ", "--prompt=1", *GREEDY, 'stop=["sea"]', "--json")
        texts = json.loads(self.exprun(*words).out)
        self.assertEqual([sorted(text) for text in texts], [["end", "prompt", "text"]] * 2)
        self.assertEqual([text["prompt"] for text in texts], ["7 little ", "1"])
        for text in texts:
            whole = self.greedy(text["prompt"])[len(text["prompt"]):-1]
            self.assertEqual(text["text"], whole.split("sea")[0])
            self.assertEqual(text["end"], "stop_text" if "sea" in whole else "tokens")

    def test_instructions_need_a_run_that_was_trained_on_them(self):
        self.exprun("export", "@last", "--huggingface", "model")
        for word in "@last", "model":
            self.assertIn('sample: --instruction needs a run with dataset.type = "instruction", or its export, whose template it uses; write '
                          "the whole prompt with --prompt\n",
                          self.exprun("sample", word, "--instruction", "--prompt=a", code=2).err)

    def test_a_prompt_that_is_not_utf8_is_refused(self):
        said = self.exprun("sample", "tiny", "--prompt", b"7 \xff".decode("utf-8", "surrogateescape"), code=2).err
        self.assertEqual(said, "--prompt:1:1: error: the prompt is not UTF-8: byte 2\n    7 \ufffd\n    ^^^\n")
        (self.folder / "prompts.txt").write_bytes(b"7\n7 \xff\n")
        self.assertTrue(self.exprun("sample", "tiny", "--prompts", "prompts.txt", code=2).err.startswith("prompts.txt:2:1: error: "))

    def test_a_setting_may_be_written_with_its_table(self):
        short, whole = (self.exprun("sample", "@last", "--prompt=7", f"{table}tokens=5", f"{table}seed=3").out
                        for table in ("", "evaluation.sample."))
        self.assertEqual(short, whole)

    def test_what_is_no_setting_is_told_what_it_may_be(self):
        self.assertIn("'ROMEO:' is not key=value; for a prompt, write --prompt ROMEO:\n",
                      self.exprun("sample", "@last", "ROMEO:", code=2).err)
        self.assertIn("unknown option '--temperature'; did you mean 'temperature=VALUE'?",
                      self.exprun("sample", "@last", "--temperature", "1", code=2).err)

    def test_a_huggingface_folder_writes_what_its_run_does(self):
        self.exprun("export", "@last", "--huggingface", "model")
        self.assertEqual(self.greedy("7 little ", "model"), self.greedy("7 little "))
        (self.folder / "model/tokenizer.json").rename(self.folder / "tokenizer.json")
        self.assertEqual(self.exprun("sample", "model", code=1).err,
                         "exprun: error: sample: model has no tokenizer that exprun reads; add tokenizer.json, or "
                         "vocab.json and merges.txt, or give --tokenizer PATH\n")
        self.assertEqual(self.exprun("sample", "model", "--tokenizer", "tokenizer.json", "--prompt", "7 little ", *GREEDY).out,
                         self.greedy("7 little "))

    def test_eval_takes_a_huggingface_folder(self):
        self.exprun("export", "@last", "--huggingface", "model")
        word = "evaluation.perplexity.path=text.txt"
        of_run = json.loads(self.exprun("eval", "@last", word, "--json").out)["metrics"]
        of_folder = json.loads(self.exprun("eval", "model", word, "--json").out)["metrics"]
        self.assertEqual(set(of_folder), {"perplexity/loss", "perplexity/perplexity", "perplexity/bits_per_byte"})
        for series, value in of_folder.items():  # kernels differ: the run is deterministic
            self.assertAlmostEqual(value, of_run[series], delta=1e-5 * value)
        self.assertIn("eval: there is no evaluation; name one", self.exprun("eval", "model", code=2).err)


if __name__ == "__main__":
    unittest.main()
