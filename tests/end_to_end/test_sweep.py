"""A sweep that is stopped, or that cannot go on, says so and is recorded so."""
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import time
import unittest

from support import children, end
from sweep_crashes import SweepCrashes


class Sweep(SweepCrashes):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.wait_for_the_end_of_trials)

    def begin(self, *options):
        process = self.start("sweep", "tiny.toml", "seed=1,2", "steps=100000000", "checkpoint.every='1000000 steps'", *options)
        self.wait_for_step(20, process)
        return process

    def assert_stopped_in_the_first_trial(self, state):
        self.assertEqual(self.rows("SELECT state FROM runs"), [(state,)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("interrupted",)])

    def test_control_c_saves_the_trial_and_ends_the_sweep(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assert_stopped_in_the_first_trial("interrupted")

    def test_a_stop_that_does_not_wait_for_the_trial_ends_the_sweep(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        # Which of the two is seen first is the kernel's choice.
        self.assertIn(self.finish(process).code, (130, 143))
        self.assert_stopped_in_the_first_trial("killed")

    def test_what_is_missing_is_said_before_the_first_trial_starts(self):
        said = self.exprun("sweep", "tiny.toml", "dataset.path=nothing.txt,text.txt,neither.txt", "lr=1,2", code=2).err
        self.assertEqual(said.partition("\n")[2].replace(str(self.folder), "HERE"), """\
<override 1>:1:14: error: 'nothing.txt' does not exist
    dataset.path=nothing.txt,text.txt,neither.txt
                 ^^^^^^^^^^^ paths are relative to the working directory, HERE
<override 1>:1:35: error: 'neither.txt' does not exist
    dataset.path=nothing.txt,text.txt,neither.txt
                                      ^^^^^^^^^^^ paths are relative to the working directory, HERE
""")
        self.assertEqual(self.rows("SELECT count(*) FROM sweeps"), [(0,)])
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(0,)])

    def test_stop_of_a_trial_or_of_all_runs_stops_the_sweep(self):
        for name, word in ("one", "@last"), ("all", "--all"):
            process = self.begin("-j", "2", f"name={name}")
            self.wait_until(lambda: len(self.trainers(process)) == 2, process)
            self.exprun("stop", word)
            self.assertEqual(self.finish(process).code, 143)
        self.assertEqual(self.rows("SELECT DISTINCT state FROM runs"), [("interrupted",)])
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(4,)])

    def test_a_trial_whose_step_takes_long_is_saved_though_another_has_stopped_the_sweep(self):
        process = self.start("sweep", "tiny.toml", "hidden_size=512,1024", "sequences=128", "steps=100000000", "-j", "2",
                             "checkpoint.every='1000000 steps'")
        begun = "SELECT count(*) FROM series WHERE name = 'train/loss'"
        self.wait_for_step(1, process)
        self.wait_until(lambda: self.rows(begun) == [(2,)], process)
        self.exprun("stop", "--all")
        self.assertEqual(self.finish(process).code, 143)
        self.assertEqual(self.rows("SELECT state FROM runs"), [("interrupted",)] * 2)
        self.assertEqual(self.rows("SELECT count(*) FROM checkpoint JOIN runs USING (run) WHERE step = last_step"), [(2,)])

    def test_what_the_data_refuse_is_at_the_change_as_it_was_typed_before_the_first_trial(self):
        axes = self.write("axes.toml", (self.folder / "tiny.toml").read_text() + "[sweep.axes]\n'run.seed' = [1, 2]\n").name
        for more in (), ("--dry-run",):
            said = self.exprun("sweep", axes, "steps=2", "evaluation.sample.prompt=Ä", *more, code=2).err
            self.assertTrue(said.startswith("<override 2>:1:26: error: the prompt contains 'Ä', which the tokenizer does not know\n"), said)
        said = self.exprun("sweep", "tiny.toml", "context_length=8,100000", "steps=2", code=2).err
        self.assertIn("'context_length' is 100000, but ", said)
        self.assertFalse((self.folder / "runs/exprun.db").exists())

    def test_a_sweep_compares_trials_by_the_metric_of_its_runs_unless_it_says_another(self):
        self.write("quiz.jsonl", '{"context": "7", "endings": ["8", "1"], "label": 0}\n')
        own = ("evaluation.quiz={type='completion',path='quiz.jsonl'}", "run.best_metric=quiz/acc", "run.best_goal=maximize")
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3", *own)
        self.assertRegex(self.exprun(*line).err, r"(?m)^exprun: best: lr=\S+, quiz/acc ")
        self.exprun(*line, "sweep.metric=val/loss", "steps=5")
        self.exprun(*line, "sweep.goal=minimize", "steps=6")
        compared = [json.loads(self.exprun("sweep", "show", word, "--json").out) for word in "123"]
        self.assertEqual([(sweep["metric"], sweep["goal"], sweep["summary"]) for sweep in compared],
                         [("quiz/acc", "maximize", "max"), ("val/loss", "minimize", "min"), ("quiz/acc", "minimize", "min")])

    def test_trials_begin_with_the_checkpoint_that_a_named_run_had_at_first(self):
        self.exprun("tiny.toml", "steps=4", "name=base", "keep_last=20")
        line = ("sweep", "tiny.toml", "model.init_from=base", "lr=1e-3,2e-3", "steps=2")
        self.exprun(*line)
        self.exprun("resume", "base", "run.steps=8")
        self.assertIn("all finished", self.exprun(*line).err)
        self.assertEqual(self.rows("SELECT count(*) FROM runs WHERE name = 'tiny'"), [(2,)])

    def test_a_merged_trial_that_did_not_finish_begins_anew_where_its_checkpoints_are_not(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=4")
        self.exprun(*line, "--store", "there")
        with contextlib.closing(sqlite3.connect(self.folder / "there/exprun.db")) as there, there:
            there.execute("UPDATE attempt SET state = 'interrupted', last_step = 2 WHERE run = 1")
        self.exprun("merge", "there")
        self.assertIn("sweep of 2 trials, 1 of them still to run", self.exprun(*line).err)
        self.assertEqual(self.rows("SELECT state FROM runs ORDER BY run"), [("interrupted",), ("finished",), ("finished",)])
        self.assertEqual(self.rows("SELECT state FROM trials"), [("finished",)] * 2)

    def test_the_tags_of_a_sweep_are_for_the_runs_that_it_takes_up_too(self):
        self.exprun("tiny.toml", "steps=2", "seed=1", 'run.tags=["own"]')
        for tag in "some", "others":
            self.exprun("sweep", "tiny.toml", "steps=2", "seed=1,2", f'run.tags=["{tag}"]')
        self.assertEqual(self.rows("SELECT seed, tags FROM runs ORDER BY seed"), [(1, "others,own,some"), (2, "others,some")])
        self.exprun("tag", "2", "some", "--remove")
        self.exprun("sweep", "tiny.toml", "steps=2", "seed=1,2", 'run.tags=["some"]')  # with which the second one began
        self.assertEqual(self.rows("SELECT seed, tags FROM runs ORDER BY seed"), [(1, "others,own,some"), (2, "others")])

    def test_a_trial_is_not_extended_but_forked(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-5,1e-3", "steps=4", "schedule.type=constant", "run.early_stop.patience=9")
        shown, ((trial,),) = self.exprun("sweep", "show", "1").out, self.rows("SELECT folder FROM runs WHERE run = 1")
        for changes in ("run.steps=8", "run.steps=8 run.early_stop.patience=10"):
            self.assertEqual(self.exprun("resume", trial, *changes.split(), code=2).err,
                             f"exprun: error: resume: {trial} is a trial of sweep 1, which compares it as it is\n"
                             f"  `exprun fork {trial} {changes}` starts a new run from here\n")
        self.assertIn(f"`exprun fork {trial} run.steps=8 --store ./runs` starts",
                      self.exprun("--store", "./runs", "resume", trial, "run.steps=8", code=2).err)
        self.exprun("resume", trial, "checkpoint.every=2 steps")
        self.exprun("fork", trial, "run.steps=8")
        self.assertEqual(self.exprun("sweep", "show", "1").out, shown)

    def test_a_run_that_a_sweep_took_up_is_forked_and_listed_in_the_order_of_trials(self):
        self.exprun("tiny.toml", "steps=4", "lr=1e-3")
        own = self.run_folder().name
        self.exprun("sweep", "tiny.toml", "lr=2e-3,1e-3", "steps=4")
        self.assertEqual(self.exprun("ls", "--sweep", "1", "--columns", "id", "--csv").out, "id\n2\n1\n")
        said = self.exprun("resume", own, "run.steps=8", code=2).err
        self.assertEqual(said, f"exprun: error: resume: {own} is also a trial of sweep 1, which compares it as it is\n"
                               f"  `exprun fork {own} run.steps=8` starts a new run from here\n")
        self.exprun(*re.search("`exprun ([^`]+)`", said)[1].split())
        self.assertEqual(self.rows("SELECT steps, last_step, state FROM runs ORDER BY run DESC LIMIT 1"), [(8, 8, "finished")])

    def test_a_run_that_finished_stays_the_trial_whatever_is_begun_with_its_recipe(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=4")
        self.exprun(*line)
        trials = self.rows("SELECT run FROM trials ORDER BY trial")
        self.exprun("rerun", "1")
        self.exprun("tiny.toml", "lr=2e-3", "steps=4", "--new")
        for words in line, (*line, "--dry-run"):
            self.assertIn("2 of 2 trials finished" if words == line else "sweep of 2 trials, all finished",
                          self.exprun(*words).err)
        self.assertEqual(self.rows("SELECT run FROM trials ORDER BY trial"), trials)
        self.exprun("rm", "--sweep", "1")
        self.assertEqual(self.exprun("ls", "--columns", "id", "--csv").out, "id\n4\n3\n")

    def test_what_a_sweep_found_is_not_removed_with_it(self):
        self.exprun("tiny.toml", "steps=4", "lr=1e-3")
        own = self.run_folder().name
        self.exprun("sweep", "tiny.toml", "lr=2e-3,1e-3", "steps=4")
        self.assertIn(f"exprun: kept {own}, not begun by the sweep; exprun rm {own} removes it\n", self.exprun("rm", "--sweep", "1").err)
        self.assertEqual(self.exprun("ls", "--columns", "id", "--csv").out, "id\n1\n")
        self.exprun("tiny.toml", "steps=4", "lr=2e-3", "--new")
        self.exprun("sweep", "tiny.toml", "lr=2e-3,1e-3", "steps=4")
        self.exprun("rm", "--sweep", "1")
        self.assertEqual(self.exprun("ls", "--columns", "id", "--csv").out, "id\n3\n1\n")

    def test_the_trial_is_the_run_on_the_data_that_the_recipe_means(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        self.exprun(*line)
        text = (self.folder / "text.txt").read_text()
        self.write("text.txt", text.replace("little", "LITTLE"))
        for lr in "1e-3", "2e-3":
            self.exprun("tiny.toml", "steps=2", f"lr={lr}", "--new")
        self.exprun(*line)
        self.assertEqual(self.rows("SELECT run FROM trials ORDER BY trial"), [(3,), (4,)])
        for content, runs in (text.replace("little", "LITTLE"), [(3,), (4,)]), (text, [(1,), (2,)]):
            self.write("text.txt", content)
            shutil.rmtree(self.folder / "runs/data", ignore_errors=True)  # nothing is prepared
            self.assertNotIn("warning", self.exprun(*line).err)
            self.assertEqual(self.rows("SELECT run FROM trials ORDER BY trial"), runs)
        self.write("text.txt", text[::-1])
        self.assertIn("the data that the recipe names is not what 2 trials were trained on (", self.exprun(*line).err)
        (self.folder / "text.txt").unlink()
        self.assertRegex(self.exprun(*line).err, r"warning: the data that the recipe names cannot be read, so nothing tells whether 2 "
                         r"trials were trained on it \(tiny-\w+, tiny-\w+\), and other runs of the same recipe were trained on other data; "
                         r"`exprun data prepare RECIPE` says what is missing\n")

    def test_a_trial_goes_on_without_files_that_were_added(self):
        (self.folder / "texts").mkdir()
        shutil.copy(self.folder / "text.txt", self.folder / "texts/a.txt")
        line = ("sweep", "tiny.toml", "path='texts/*.txt'", "lr=1e-3,2e-3", "steps=4")
        self.exprun(*line, "max_minutes=1e-6", code=75)
        self.write("texts/b.txt", "Another text.")
        said = self.exprun(*line).err
        self.assertIn("warning: data: texts/b.txt is new; tiny-", said)
        self.assertRegex(said, r"warning: the data that the recipe names is not what a trial began with \(tiny-\w+\); it goes on with its own, "
                         r"and new trials train on what the recipe names\n")
        self.assertNotIn("exprun rm", said)
        self.assertEqual(self.rows("SELECT state, last_step FROM runs"), [("finished", 4)] * 2)

    def test_only_trials_that_cannot_go_on_stop_a_sweep_whose_data_changed(self):
        (self.folder / "texts").mkdir()
        text = (self.folder / "text.txt").read_text()
        self.write("texts/a.txt", text)
        for path in "texts/*.txt", "text.txt":
            self.exprun("tiny.toml", f"path={path}", "steps=4", "max_minutes=1e-6", code=75)
        self.write("texts/b.txt", "Another text.")
        self.write("text.txt", text[::-1])
        edited = self.run_folder().name
        line = ("sweep", "tiny.toml", "path=texts/*.txt,text.txt", "steps=4")
        refused = ("the data that the recipe names is not what a trial was trained on "
                   f"({edited}); restore it, or remove what was trained: `exprun rm {edited}`, and the same command trains it again\n")
        self.assertIn(f"exprun: error: sweep: {refused}", self.exprun(*line, code=1).err)
        self.assertIn(f"exprun: warning: {refused}", self.exprun(*line, "--dry-run").err)
        self.exprun("rm", edited)
        self.exprun(*line)
        self.assertEqual(self.rows("SELECT state, last_step FROM runs WHERE folder != ?", edited), [("finished", 4)] * 2)

    def test_a_trial_that_ended_early_goes_on_in_a_fork(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,2e-3", "evaluation.val_loss.every=1 step", "run.early_stop.patience=2",
                    "run.early_stop.min_delta=10.0")
        ((trial,),) = self.rows("SELECT folder FROM runs WHERE run = 1")
        self.assertIn(f"; `exprun fork {trial} run.early_stop.patience=4` starts a new run from here\n", self.exprun("resume", trial).err)
        self.exprun("fork", trial, "run.early_stop.patience=4")
        self.assertEqual(self.rows("SELECT state, last_step FROM runs"), [("finished", 2), ("finished", 2), ("finished", 7)])

    def test_trials_of_a_text_that_has_changed_are_no_answers(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        self.exprun(*line)
        self.write("text.txt", (self.folder / "text.txt").read_text().replace("little", "LITTLE"))
        said = self.exprun(*line).err
        (removal,) = re.findall("`exprun (rm [^`]+)`", said)
        self.assertEqual(sorted(removal.split()[1:]), sorted(row[0] for row in self.rows("SELECT folder FROM runs")))
        more = self.exprun("sweep", "tiny.toml", "lr=1e-3,2e-3,3e-3", "steps=2").err
        self.assertIn(f"`exprun {removal}`", more)
        self.assertIn(f"; exprun {removal} removes them\n", self.exprun("rm", "--sweep", "1").err)
        self.exprun(*removal.split())
        self.assertIn("2 of 2 trials finished", self.exprun(*line).err)

    def test_the_trial_of_a_text_that_was_brought_back_is_the_run_on_it(self):
        text = (self.folder / "text.txt").read_text()
        line = ("sweep", "tiny.toml", "lr=1e-2,2e-2", "steps=3")
        self.exprun("tiny.toml", "steps=3")
        first = self.run_folder().name
        self.write("text.txt", text + "changed")
        self.exprun("tiny.toml", "steps=3", "--new")
        self.write("text.txt", text)
        for state in "finished", "interrupted":
            self.change_store(("UPDATE attempt SET state = ? WHERE run = 2", (state,)))
            trials = self.exprun(*line, "--dry-run", "--json")
            self.assertEqual([(trial["state"], trial["run"]) for trial in json.loads(trials.out)], [("finished", first), ("to run", None)])
            self.assertNotIn("warning", trials.err)
        self.assertIn("2 of 2 trials finished", self.exprun(*line).err)
        self.assertEqual(self.rows("SELECT run FROM trials ORDER BY trial"), [(1,), (3,)])

    def write_large_records_without_text(self, name):
        """A trial finds that out when it prepares them: no check reads a large packed file."""
        noise = random.Random(1).randbytes(3 << 19).hex().encode()
        self.write(name, gzip.compress(b'{"body": "' + noise + b'"}\n'))

    def test_a_trial_that_cannot_begin_has_failed_and_the_others_go_on(self):
        self.write_large_records_without_text("packed.jsonl.gz")
        line = ("sweep", "tiny.toml", "dataset.path=packed.jsonl.gz,text.txt", "tokenizer=byte", "steps=2")
        said = self.exprun(*line, code=6).err
        self.assertRegex(said, r"\[1/2\] dataset.path=packed.jsonl.gz: could not begin: .*has no field 'text'")
        self.assertRegex(said, r": 1 of 2 trials finished, 1 failed; the same command starts the failed trials again\n")
        self.assertEqual(self.rows("SELECT state FROM runs"), [("finished",)])
        self.assertEqual(self.rows("SELECT state, problem <> '' FROM trials"), [("failed", 1), ("finished", 0)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("failed",)])
        self.write("packed.jsonl.gz", gzip.compress(b'{"text": "something after all. "}\n' * 100))
        self.exprun(*line)
        self.assertEqual(self.rows("SELECT state, problem FROM trials"), [("finished", ""), ("finished", "")])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("finished",)])

    def test_fail_fast_stops_the_others(self):
        line = ("sweep", "tiny.toml", "lr=1e-2,1e30", "max_grad_norm=0", "steps=100000000", "checkpoint.every=1000000 steps")
        said = self.exprun(*line, "-j", "2", "--fail-fast", code=6).err
        self.assertRegex(said, r"\[2/2\] lr=1e30: diverged at step \d[^\n]*\n")
        self.assertIn("--fail-fast: stopping; the other trials save their state\n", said)
        self.assertEqual(self.rows("SELECT state FROM trials"), [("interrupted",), ("diverged",)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("interrupted",)])
        refused = self.exprun(*line, "--fail-fast", "--keep-going", code=2)
        self.assertEqual(refused.err, "exprun: error: sweep: give one of --fail-fast and --keep-going\n")

    def test_trials_run_side_by_side_on_cores_of_their_own(self):
        process = self.begin("-j", "2")
        self.wait_until(lambda: len(self.trainers(process)) == 2, process)
        cores = [os.sched_getaffinity(pid) for pid in self.trainers(process)]
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual(cores[0] & cores[1], set())
        self.wait_until(lambda: len(self.rows("SELECT run FROM trial WHERE run IS NOT NULL")) == 2, process)
        self.assertEqual(self.rows("SELECT state FROM trials"), [("running",), ("running",)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("running",)])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)
        self.assertEqual(self.rows("SELECT state FROM trials"), [("interrupted",), ("interrupted",)])

    def trainers(self, process):
        return [trainer for launcher in children(process.pid) for trainer in children(launcher)]

    def test_a_killed_scheduler_leaves_nothing_that_runs(self):
        process = self.begin("-j", "2")
        self.wait_until(lambda: len(self.rows("SELECT run FROM trial WHERE run IS NOT NULL")) == 2, process)
        left = [*children(process.pid), *self.trainers(process)]
        process.kill()
        process.wait()
        for pid in left:
            self.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))
        self.assertEqual(self.rows("SELECT state FROM trials"), [("interrupted",), ("interrupted",)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("interrupted",)])

    def wait_for(self, happened):
        late = time.monotonic() + self.timeout
        while not happened():
            self.assertLess(time.monotonic(), late)
            time.sleep(0.01)

    def test_points_that_are_new_or_gone_are_named(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        said = self.exprun("sweep", "tiny.toml", "lr=2e-3,3e-3", "steps=2").err
        self.assertIn("exprun: compared with sweep 1: one new point (lr=3e-3), one point left out (lr=1e-3)\n", said)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(3,)])
        said = self.exprun("sweep", "tiny.toml", "lr=2e-3,3e-3", "steps=2").err
        self.assertNotIn("compared", said)

    def test_a_trial_that_diverged_is_not_the_best_and_how_it_starts_anew_is_said(self):
        line = ("sweep", "tiny.toml", "lr=1e30,1e-2", "max_grad_norm=0", "steps=5", "evaluation.val_loss.every=1 steps")
        for words in (line, line, (*line, "--retry-failed")):
            said = self.exprun(*words, code=6).err
            self.assertRegex(said, r"\[1/2\] lr=1e30: diverged at step 2, best [^\n]*: the loss of step 2 is nan; the update was not applied\n")
            self.assertEqual(said.count("nan"), 1, said)
            self.assertRegex(said, r"(?s): 1 of 2 trials finished, 1 failed; --retry-failed starts the failed trials again\n"
                                   r"exprun: best: lr=1e-2, val/loss [^\n]*\n"
                                   r"exprun: next:\n"
                                   r"  exprun tiny.toml lr=1e-2 max_grad_norm=0 'evaluation.val_loss.every=1 steps' steps=10"
                                   r"   trains the best point again, for twice as long\n"
                                   r"  exprun sweep show 1   shows every trial\n"
                                   r"  exprun report --sweep 1   compares the runs\n\Z")
        self.assertEqual(self.rows("SELECT state, count(*) FROM runs GROUP BY state ORDER BY state"),
                         [("diverged", 2), ("finished", 1)])

    def test_it_ends_with_a_table_of_the_trials_that_finished(self):
        said = self.exprun("sweep", "tiny.toml", "optimizer.lr=1e-3,1e30,1e-2", "model.num_layers=1,2", "max_grad_norm=0", "steps=4",
                           "evaluation.val_loss.every=4 steps", code=6).err
        said = said[said.index("exprun: the trials that"):]
        values = [float(value) for value in re.findall(r" (\d\.\d{3}) ", said)[:4]]
        self.assertEqual(values, sorted(values))
        for pattern, name in ((r"(?<= )\d\.\d{3}(?= )", "LOSS"), (r"\d+(\.\d\d)?s\b", "TIME"), (r"tiny-\w{8}", "RUN"), (r" +", " ")):
            said = re.sub(pattern, name, said)
        lines = said.splitlines()
        self.assertEqual(lines[:2], ["exprun: the trials that finished, best first:", " lr num_layers best val/loss at step time run"])
        self.assertEqual(sorted(lines[2:6]), sorted(f"{lr} {layers} LOSS 4 TIME RUN" for lr in (" 0.01", "0.001") for layers in (1, 2)))
        self.assertRegex(lines[6], r"exprun: best: optimizer.lr=1e-2 model.num_layers=\d, val/loss LOSS at step 4 \(RUN\)")
        many = self.exprun("sweep", "tiny.toml", "seed=range(11)", "steps=1", "evaluation.val_loss.every=1 steps").err
        self.assertEqual(len(many[many.index("exprun: the 10 best trials:\nseed  best val/loss"):many.index("exprun: mean over ")].splitlines()), 12)

    def test_removed_trials_leave_a_sweep_finished(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,3e-3,1e-2", "steps=2")
        self.exprun(*line)
        self.exprun("rm", "1")
        def listed():
            return [row["state"] for row in json.loads(self.exprun("sweep", "ls", "--json").out)] + \
                   [state for state, in self.rows("SELECT state FROM sweeps")]
        self.assertEqual(listed(), ["finished"] * 2)
        shown = self.exprun("sweep", "show").out
        self.assertIn("\nsweep 1 of tiny: finished, 2 of 3 trials finished, 1 removed\nbest: lr=1e-2, ", shown)
        self.assertRegex(shown, r"\n    1  0\.001  removed *\n")
        self.assertIn("\n`exprun restore --sweep 1` brings back one removed run\n", shown)
        self.exprun("rm", "--sweep", "1")
        self.assertEqual(listed(), ["removed"] * 2)
        self.exprun(*line)
        self.assertEqual(listed(), ["finished"] * 2)
        (run,), = self.rows("SELECT run FROM trials WHERE trial = 2")
        self.exprun("rm", str(run))
        self.exprun("gc")
        self.assertEqual(self.rows("SELECT trial, run IS NULL, state FROM trials"),
                         [(1, 0, "finished"), (2, 1, "removed"), (3, 0, "finished")])
        self.assertEqual(listed(), ["finished"] * 2)
        self.assertNotIn("restore", self.exprun("sweep", "show").out)

    def test_the_columns_of_a_sweep_have_the_names_that_report_gives_them(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "steps=4", "evaluation.val_loss.every=4 steps")
        def columns(*words):
            return self.exprun(*words, "--csv").out.partition("\n")[0].split(",")
        shown, reported = columns("sweep", "show"), columns("report", "--sweep", "1")
        self.assertEqual(shown, ["trial", "optimizer.lr", "state", "step", "val_loss_best", "val_loss_best_step", "run"])
        self.assertEqual(set(shown) - set(reported), {"trial"})

    def test_a_trial_that_was_killed_is_not_the_best_and_the_same_line_goes_on(self):
        process = self.start("sweep", "tiny.toml", "lr=1e-2,2e-2", "steps=400")
        self.wait_for_step(0, process)
        os.kill(children(process.pid)[0], signal.SIGKILL)
        said = self.finish(process)
        self.assertEqual(said.code, 6, said.err)
        self.assertRegex(said.err, r": 1 of 2 trials finished, 1 interrupted; the same command continues it\n"
                                   r"exprun: best finished so far: lr=2e-2, ")
        self.assertIn("\nsweep 1 of tiny: interrupted, 1 of 2 trials finished, 1 interrupted\n", self.exprun("sweep", "show").out)
        self.assertIn(": 2 of 2 trials finished\n", self.exprun("sweep", "tiny.toml", "lr=1e-2,2e-2", "steps=400").err)
        self.assertEqual(self.rows("SELECT state, attempt FROM runs ORDER BY run"), [("finished", 2), ("finished", 1)])

    def test_the_log_of_the_first_failure_is_shown(self):
        """Of trials that need more memory than there is; that of one that diverged says no more than the message."""
        said = self.exprun("sweep", "tiny.toml", "hidden_size=1000000,2000000,16", "steps=5", code=6).err
        shown = r"\[(\d)/3\] hidden_size=\d+: failed, (?:.*\n)+?  the last lines of runs/tiny-\w{8}/logs/attempt-1-rank-0.log:\n  \| "
        self.assertEqual(re.findall(shown, said), ["1"])
        self.assertEqual(said.count("the last lines of"), 1)
        self.assertIn("exprun: 1 of 3 trials finished, 2 failed; the same command starts the failed trials again\n", said)
        self.assertIn(": failed, 1 of 3 trials finished, 2 failed\n", self.exprun("sweep", "show").out)
        ((whole, run),) = self.rows("SELECT message, folder FROM runs WHERE run = 1")
        self.assertEqual(len(whole.splitlines()), 3, whole)
        for words in ("sweep", "show"), ("show", run, "--attempts"), ("ls", "--columns", "message"):
            self.assertRegex(self.exprun(*words).out, re.escape(whole.partition("\n")[0]) + " *\n", words)
        for words in ("sweep", "show"), ("ls", "--columns", "message"):
            self.assertIn(json.dumps(whole), self.exprun(*words, "--json").out, words)

    def test_only_a_failure_of_this_call_stops_the_others(self):
        line = ("max_grad_norm=0", "steps=5")
        self.exprun("sweep", "tiny.toml", "lr=1e30,1e-2", *line, code=6)
        said = self.exprun("sweep", "tiny.toml", "lr=1e30,2e-2,3e-2", *line, "--fail-fast", code=6).err
        self.assertNotIn("stopping", said)
        self.assertIn(": 2 of 3 trials finished, 1 failed; ", said)
        said = self.exprun("sweep", "tiny.toml", "lr=1e30,2e30,4e-2", *line, "--fail-fast", code=6).err
        self.assertIn("--fail-fast: stopping\n", said)
        self.assertIn(": 0 of 3 trials finished, 2 failed; ", said)

    def test_what_an_earlier_call_has_finished_is_not_told_again(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3,3e-3", "steps=2")
        self.exprun("tiny.toml", "lr=2e-3", "steps=2")
        said = self.exprun(*line).err
        self.assertRegex(said, r"exprun: sweep of 3 trials, 2 of them still to run, (about \d+|less than 1) s if run one after another\n")
        self.assertEqual(re.findall(r"\[(\d)/3\] \S+ finished", said), ["1", "3"])
        again = self.exprun(*line).err
        self.assertTrue(again.startswith("exprun: sweep of 3 trials, all finished\nexprun: 3 of 3 trials finished\n"), again)

    def test_with_seeds_the_best_point_is_the_one_with_the_best_mean(self):
        line = ("sweep", "tiny.toml", "lr=1e-2,2e-2,1e-4", "steps=8", "evaluation.val_loss.every=4 steps", "--seeds", "2")
        said = self.exprun(*line).err
        means = self.rows("SELECT substr(changes, 1, instr(changes, ' ') - 1), avg(min) FROM trials JOIN series USING (run) "
                          "WHERE name = 'val/loss' GROUP BY 1 ORDER BY 2")
        self.assertEqual(len(means), 3)
        (best, mean), last = means[0], means[2][0]
        self.assertRegex(said, r"exprun: the points, best first \(mean ± standard deviation over seeds\):\n *lr  best val/loss\n"
                               rf" *0.0\d  {mean:.3f}\d* ± [\d.e-]+ \(2\)\n")
        self.assertRegex(said, rf"exprun: best: {best}, val/loss {mean:.3f}\d* ± [\d.e-]+ over 2 seeds\n")
        self.assertIn(f"\n  exprun tiny.toml {best} 'evaluation.val_loss.every=4 steps' steps=16   trains the best point again, for twice as long\n", said)
        self.assertEqual(last, "lr=1e-4")

    def test_where_only_seeds_vary_their_mean_is_the_result(self):
        said = self.exprun("sweep", "tiny.toml", "lr=1e-2", "steps=4", "--seeds", "2").err
        ((mean,),) = self.rows("SELECT avg(min) FROM trials JOIN series USING (run) WHERE name = 'val/loss'")
        result = rf"mean over 2 seeds: val/loss {mean:.3f}\d* ± [\d.e-]+\n"
        self.assertRegex(said, r"\nexprun: " + result + "exprun: next:\n  exprun tiny.toml lr=1e-2 steps=8   trains again, for twice as long\n")
        self.assertRegex(self.exprun("sweep", "show").out, r"\nsweep 1 of tiny: finished, 2 of 2 trials finished\n" + result + r"\Z")
        (listed,) = json.loads(self.exprun("sweep", "ls", "--json").out)
        self.assertAlmostEqual(listed["best"], mean)
        self.assertEqual(listed["best_changes"], "")

    def test_a_trial_that_runs_on_another_host_is_left_to_it(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        self.exprun("tiny.toml", "lr=1e-3", "steps=2")
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store:
            store.execute("UPDATE attempt SET host = 'elsewhere', boot_id = 'another', machine_id = 'another', state = 'running', "
                          "ended_ms = NULL, last_step = 1")
            store.commit()
        self.assertRegex(self.exprun(*line).err, r": 1 of 2 trials finished, 1 running elsewhere\n")
        self.assertEqual(self.rows("SELECT state, attempt FROM runs ORDER BY run"), [("running", 1), ("finished", 1)])
        self.assertEqual(self.rows("SELECT state FROM trials"), [("running",), ("finished",)])

    # With tokens enough that all cores are worth it.
    WIDE = ("sweep", "tiny.toml", "seed=1,2", "run.threads=auto", "steps=200", "hidden_size=128", "batch.sequences=64",
            "checkpoint.every=100000 steps", "checkpoint.keep_last=10", "checkpoint.keep_best=none")

    def begin_both(self):
        process = self.start(*self.WIDE, "-j", "2")
        self.wait_for_step(1, process)
        self.wait_until(lambda: len(self.rows("SELECT 1 FROM runs WHERE last_step > 0")) == 2, process)
        return process

    def test_a_trial_that_was_killed_before_its_first_checkpoint_keeps_its_threads(self):
        process = self.begin_both()
        self.kill_all(process)
        self.wait_for_the_end_of_trials()
        self.assertEqual(self.rows("SELECT count(*) FROM checkpoint"), [(0,)])
        self.exprun(*self.WIDE)
        alone = len(os.sched_getaffinity(0)) // 2 or 1
        for (folder,) in self.rows("SELECT folder FROM runs"):
            (checkpoint,) = (self.folder / "runs" / folder / "checkpoints").iterdir()
            self.assertEqual(threads_of(checkpoint), alone)
        self.assertEqual(self.rows("SELECT attempt, from_step, state FROM attempt WHERE attempt > 1"), [(2, 0, "finished")] * 2)

    def test_a_trial_that_began_with_all_cores_goes_on_with_all(self):
        cores = len(os.sched_getaffinity(0))
        if cores < 2:
            self.skipTest("this machine has one core")
        line = (*self.WIDE[:4], "steps=100000000", *self.WIDE[5:])
        process = self.start(*line)
        self.wait_for_step(1, process)
        process.terminate()
        self.assertEqual(self.finish(process).code, 143)
        process = self.start(*line, "-j", str(cores))
        self.wait_until(lambda: self.rows("SELECT state, attempt FROM runs") == [("running", 2)] and self.trainers(process), process)
        (trainer,) = self.trainers(process)
        self.assertEqual(os.sched_getaffinity(trainer), os.sched_getaffinity(0))
        process.terminate()
        self.assertEqual(self.finish(process).code, 143)

    def test_a_trial_keeps_the_threads_that_it_began_with(self):
        process = self.begin_both()
        process.terminate()
        self.assertEqual(self.finish(process).code, 143)
        self.exprun(*self.WIDE)
        alone = len(os.sched_getaffinity(0)) // 2 or 1
        for (folder,) in self.rows("SELECT folder FROM runs"):
            checkpoints = sorted((self.folder / "runs" / folder / "checkpoints").iterdir())
            self.assertEqual(len(checkpoints), 2)
            self.assertEqual([threads_of(checkpoint) for checkpoint in checkpoints], [alone, alone])
        self.assertEqual(self.rows("SELECT max(attempt) FROM runs"), [(2,)])

    def test_a_trial_that_runs_elsewhere_is_not_the_best(self):
        line = ("sweep", "tiny.toml", "steps=100000000,2", "evaluation.val_loss.every=1 steps")
        process = self.start(*line)
        self.wait_for_step(20, process)
        said = self.exprun(*line).err
        self.assertRegex(said, r": 1 of 2 trials finished, 1 running elsewhere\nexprun: best finished so far: steps=2, ")

    def test_its_result_is_a_table_for_a_script(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,1e-2", "steps=2")
        before = json.loads(self.exprun(*line, "--dry-run", "--json").out)
        self.assertEqual([(row["state"], row["val_loss_best"], row["run"]) for row in before], [("to run", None, None)] * 2)
        for words in ((), ("--dry-run",), ()):
            rows = json.loads(self.exprun(*line, *words, "--json").out)
            self.assertEqual([(row["trial"], row["changes"], row["state"], row["val_loss_best_step"]) for row in rows],
                             [(1, "lr=1e-3", "finished", 2), (2, "lr=1e-2", "finished", 2)])
            self.assertEqual([(row["run"],) for row in rows], self.rows("SELECT folder FROM runs ORDER BY run"))
            self.assertGreater(rows[0]["val_loss_best"], rows[1]["val_loss_best"])
        self.assertEqual(self.exprun(*line, "--markdown").out.count("| finished |"), 2)
        self.assertEqual(self.exprun(*line).out, "")
        refused = self.exprun("sweep", "tiny.toml", "lr=3e-3,4e-3", "--json", "--csv", code=2)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2,)])
        self.assertIn("give one of --json", refused.err)

    def test_a_value_written_otherwise_is_the_same_sweep(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        self.exprun("sweep", "tiny.toml", "lr=0.001,0.002", "steps=2")
        self.assertEqual(self.rows("SELECT count(*) FROM sweep"), [(1,)])

    def test_trials_that_fall_behind_are_stopped_early_and_can_be_resumed(self):
        line = ("sweep", "tiny.toml", "lr=1e-2,1e-5,2e-5", "steps=4000", "evaluation.val_loss.every=20 steps",
                "--early-stop", "asha", "--reduction", "2", "--min-steps", "40")
        said = self.exprun(*line).err
        self.assertRegex(said, r"\[2/3\] lr=1e-5: pruned, best val/loss .* \(tiny-\w{8}\): asha: 2nd of 2 at step \d+; the best one goes on\n")
        self.assertRegex(said, r": 1 of 3 trials finished, 2 stopped early\nexprun: best: lr=1e-2, ")
        stopped = self.rows("SELECT state, message LIKE 'asha: %', last_step < 4000 FROM runs ORDER BY run")
        self.assertEqual(stopped, [("finished", 0, 0), ("pruned", 1, 1), ("pruned", 1, 1)])
        self.assertEqual(self.rows("SELECT count(*) FROM event WHERE kind = 'prune'"), [(2,)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("finished",)])
        self.exprun(*line)
        self.assertEqual(self.rows("SELECT state, attempt FROM runs ORDER BY run"), [("finished", 1), ("pruned", 1), ("pruned", 1)])
        self.exprun("resume", "2")
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs WHERE run = 2"), [("finished", 2, 4000)])
        (begun,) = self.rows("SELECT from_step FROM attempt WHERE run = 2 AND attempt = 2")[0]
        self.assertGreaterEqual(begun, 40)

    def test_a_trial_is_stopped_within_a_step_of_the_decision(self):
        """Its steps are slow, so that what the machine does beside them is not counted as steps."""
        self.exprun("sweep", "tiny.toml", "lr=1e-2,1e-5", "model.hidden_size=128", "model.num_layers=4", "context_length=128",
                    "sequences=64", "batch.micro_batch=4", "steps=12", "evaluation.val_loss.every=1 steps", "evaluation.val_loss.tokens=128",
                    "--early-stop", "asha", "--reduction", "2", "--min-steps", "2")
        self.assertEqual(self.rows("SELECT state FROM runs"), [("finished",), ("pruned",)])
        self.assertEqual(self.rows("SELECT count(*) FROM event WHERE kind = 'prune' AND run = 2"), [(1,)])
        late = self.rows("SELECT count(*) FROM metric JOIN series ON series.id = metric.series JOIN event ON event.run = series.run "
                         "WHERE name = 'train/loss' AND kind = 'prune' AND metric.time_ms > event.time_ms")
        self.assertLessEqual(late[0][0], 1)

    def test_a_recipe_says_which_trials_are_stopped_early(self):
        recipe = pathlib.Path(self.folder, "tiny.toml").read_text()
        pathlib.Path(self.folder, "stops.toml").write_text(
            recipe + '\n[sweep.axes]\n"optimizer.lr" = [1e-2, 1e-5]\n[sweep.early_stop]\ntype = "asha"\nmin_steps = 40\n')
        every = ("steps=4000", "evaluation.val_loss.every=20 steps")
        self.assertIn("pruned, ", self.exprun("sweep", "stops.toml", *every).err)
        self.assertEqual(self.rows("SELECT state FROM runs ORDER BY run"), [("finished",), ("pruned",)])
        self.exprun("sweep", "stops.toml", *every, "seed=7", "--early-stop", "none")
        self.assertEqual(self.rows("SELECT state FROM runs WHERE run > 2"), [("finished",), ("finished",)])

    def test_a_trial_that_was_interrupted_is_not_continued_only_to_be_stopped(self):
        line = ("sweep", "tiny.toml", "lr=1e-2,1e-5", "steps=4000", "evaluation.val_loss.every=20 steps", "checkpoint.every=20 steps")
        self.exprun("tiny.toml", "lr=1e-2", *line[3:])
        process = self.start(*line)
        self.wait_until(lambda: self.rows("SELECT 1 FROM metrics WHERE run = 2 AND name = 'val/loss' AND step >= 60"), process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assertEqual(self.state(), "interrupted")
        said = self.exprun(*line, "--early-stop", "asha", "--min-steps", "40").err
        self.assertRegex(said, r"\[2/2\] lr=1e-5: pruned, .*: asha: 2nd of 2 at step \d+; the best one goes on\n")
        self.assertEqual(self.rows("SELECT state, attempt FROM runs WHERE run = 2"), [("pruned", 1)])

    def test_wrong_early_stopping(self):
        for words, message in ((("--early-stop", "ahsa"), "sweep: unknown early-stopping rule 'ahsa'; give asha, median or none"),
                               (("--summary", "mean"), "sweep: 'mean' is not a summary of a metric; use min, max or last")):
            self.assertEqual(self.exprun("sweep", "tiny.toml", "lr=1,2", *words, code=2).err, f"exprun: error: {message}\n")

    def test_sweeps_are_listed_and_shown(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=1,2", "steps=8", "evaluation.val_loss.every=4 steps", "-j", "2")
        self.write_large_records_without_text("packed.jsonl.gz")
        self.exprun("sweep", "tiny.toml", "dataset.path=text.txt,packed.jsonl.gz", "tokenizer=byte", "steps=2", "name=other", code=6)
        listed = json.loads(self.exprun("sweep", "ls", "--json").out)
        self.assertEqual([(row["sweep"], row["name"], row["state"], row["trials"], row["finished"], row["failed"]) for row in listed],
                         [(2, "other", "failed", 2, 1, 1), (1, "tiny", "finished", 4, 4, 0)])
        shown = json.loads(self.exprun("sweep", "show", "tiny", "--json").out)
        self.assertEqual([row["state"] for row in shown["trials"]], ["finished"] * 4)
        scores = [row["val_loss_best"] for row in shown["trials"]]
        self.assertEqual(shown["best_trial"], 1 + scores.index(min(scores)))
        self.assertEqual([axis["axes"] for axis in shown["importance"]], [["lr"]])
        self.assertGreater(shown["importance"][0]["variance_explained"], 0.9)
        self.assertAlmostEqual(shown["variance_unexplained"], 1 - shown["importance"][0]["variance_explained"])
        self.assertEqual([(point["changes"], point["count"]) for point in shown["seeds"]], [("lr=1e-2", 2), ("lr=1e-3", 2)])
        self.assertAlmostEqual(shown["seeds"][0]["mean"], statistics.mean(scores[2:]))
        self.assertAlmostEqual(shown["seeds"][0]["deviation"], statistics.stdev(scores[2:]))
        plain = self.exprun("sweep", "show", "1").out
        self.assertRegex(plain, r"(?s)\Atrial +lr +seed +state .*\n    1  0.001     1  finished .*"
                                r"\nsweep 1 of tiny: finished, 4 of 4 trials finished\n"
                                r"best: lr=1e-2, val/loss [\d.]+ ± [\d.e-]+ over 2 seeds\n\n"
                                r"mean ± standard deviation over seeds, best first:\n *lr  best val/loss\n *0.01  [\d.]+ ± [\d.e-]+ \(2\)\n")
        self.assertEqual(listed[1]["best_changes"], "lr=1e-2")
        self.assertAlmostEqual(listed[1]["best"], statistics.mean(scores[2:]))
        self.assertIn("packed.jsonl.gz", self.exprun("sweep", "show", "@last").out)
        self.assertEqual(self.exprun("sweep", "show", "7", code=4).err,
                         f"exprun: error: store: no sweep '7' in '{self.folder}/runs/exprun.db'; `exprun sweep ls` lists its sweeps\n")

    def test_a_sweep_in_the_background_goes_on_alone_and_can_be_stopped(self):
        said = self.exprun("sweep", "tiny.toml", "seed=1,2", "steps=100000000", "checkpoint.every='1000000 steps'", "--detach").err
        process, log = re.search(r"\nexprun: sweep 1 runs in the background \(process (\d+)\), its log is (runs/sweeps/\w+\.log)\n"
                                 r"  exprun sweep show 1   shows its trials\n"
                                 r"  exprun sweep stop 1   saves and ends them\n\Z", said).groups()
        self.assertTrue(said.startswith("exprun: sweep of 2 trials (2 seeds)\n"), said)
        self.assertEqual(os.getsid(int(process)), int(process))
        self.wait_for(lambda: self.last_step() >= 20)
        self.exprun("sweep", "stop", "1")
        self.assert_stopped_in_the_first_trial("interrupted")
        text = (self.folder / log).read_text()
        self.assertTrue(text.startswith(said.partition("exprun: sweep 1 runs")[0]), text)
        self.assertIn("exprun: stopping: the trials save their state\n", text)
        self.assertTrue(text.endswith("exprun: 0 of 2 trials finished, 1 interrupted; the same command continues it\n"), text)
        refused = self.exprun("sweep", "tiny.toml", "seed=1,2", "steps=3,x", "--detach", code=2)
        self.assertIn("'steps' must be an integer", refused.err)

    def test_nothing_is_left_to_the_background_where_nothing_is_to_run(self):
        line = ("sweep", "tiny.toml", "lr=1e-2,1e-3", "steps=2", "evaluation.val_loss.every='1 steps'")
        self.exprun(*line)
        said = self.exprun(*line, "--detach").err
        self.assertTrue(said.startswith("exprun: sweep of 2 trials, all finished\nexprun: 2 of 2 trials finished\n"), said)
        self.assertNotIn("in the background", said)
        self.assertRegex(said, r"\nexprun: the trials that finished, best first:\n *lr  best val/loss  at step  +time  run\n")
        ahead = self.exprun(*line[:2], "lr=1e-2,1e-3,1e-4", *line[3:], "--dry-run").err
        self.assertRegex(ahead, r"\Aexprun: sweep of 3 trials, 1 of them still to run, (about \d+|less than 1) s\n\Z")

    def test_a_sweep_that_goes_on_in_the_background_shows_what_is_new_in_its_log(self):
        texts = [""]
        for steps in (20, 40):
            said = self.exprun("sweep", "tiny.toml", "seed=1,2", "steps=100000000", "checkpoint.every='1000000 steps'", "--detach").err
            process, log = re.search(r"\(process (\d+)\), its log is (runs/sweeps/\w+\.log)\n", said).groups()
            self.wait_for(lambda steps=steps: self.last_step() >= steps)
            self.exprun("sweep", "stop", "1")
            texts.append((self.folder / log).read_text())
            shown = said.partition("exprun: sweep 1 runs")[0]
            self.assertTrue(shown.startswith("exprun: sweep of 2 trials (2 seeds)"), shown)
            self.assertTrue(texts[-1].startswith(texts[-2] + shown), (shown, texts))

    def test_a_sweep_is_stopped_from_elsewhere(self):
        process = self.begin("-j", "2")
        self.assertEqual(json.loads(self.exprun("sweep", "ls", "--json").out)[0]["state"], "running")
        self.assertEqual(self.exprun("sweep", "stop", "1").err,
                         "exprun: sweep 1 has stopped; the command that began it continues it\n")
        self.assertEqual(self.finish(process).code, 143)
        self.assertEqual(json.loads(self.exprun("sweep", "ls", "--json").out)[0]["state"], "interrupted")
        self.assertEqual(self.exprun("sweep", "stop", "1", code=1).err, "exprun: error: sweep stop: sweep 1 is not running\n")

    def test_a_sweep_in_a_container_is_stopped_there(self):
        container = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if not shutil.which("unshare") or subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
            self.skipTest("process numbers of its own need root and unshare")
        sweep = subprocess.Popen([*container, self.program, "sweep", "tiny.toml", "seed=1,2", "steps=100000000"], cwd=self.folder,
                                 env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(end, sweep)
        self.wait_for_step(20, sweep)
        self.assertRegex(self.exprun("sweep", "stop", "1", code=1).err,
                         r"^exprun: error: sweep 1 runs on \S+-\d+ too, in one process; give the same command there\n$")
        self.assertRegex(self.exprun("stop", "@last", code=1).err, r" is running \(process \d+ of another container on \S+\); stop it there\n$")
        self.assertIsNone(sweep.poll())


def threads_of(checkpoint):
    return json.loads((checkpoint / "state.json").read_text())["threads"]


class Crashes(SweepCrashes):
    def test_trials_that_are_killed_at_random_all_finish_with_the_same_bits(self):
        self.crash(trials=6, kills=4, seed=1)

    def test_trials_that_are_killed_go_on_from_their_newest_checkpoints(self):
        self.go_on_from_checkpoints()

    def test_every_trainer_that_lives_has_a_running_row(self):
        self.look_at_young_trainers(delays=(0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3))

    def test_trials_that_are_stopped_early_are_the_same_whoever_looks(self):
        self.crash_with_early_stopping(trials=6, kills=4, seed=1)

    def test_several_sweep_processes_share_the_trials(self):
        self.share(trials=16, schedulers=4)


if __name__ == "__main__":
    unittest.main()
