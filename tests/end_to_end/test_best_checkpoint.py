"""The checkpoint with the best value of run.best_metric stays, and can be looked at."""
import json
import shutil
import unittest

from support import ExprunTest, flip_a_bit, kill

# The rate grows until the loss goes up again, after its best.
WORSE = ("steps=60", "lr=1", "schedule.warmup=60 steps", "evaluation.val_loss.every=4 steps",
         "checkpoint.every=10 steps")


class BestCheckpoint(ExprunTest):
    def saved(self):
        return sorted(int(path.name.split("_")[1]) for path in (self.run_folder() / "checkpoints").glob("step_????????"))

    def best(self):
        ((step, value),) = self.rows("SELECT min_step, min FROM series WHERE name = 'val/loss'")
        return step, value

    def test_the_last_line_names_the_metric_whose_best_it_says(self):
        self.write("quiz.jsonl", '{"context": "7", "endings": ["8", "1"], "label": 0}\n')
        metric = ("run.best_metric=quiz/acc", "run.best_goal=maximize")
        said = self.exprun("tiny.toml", "steps=6", "evaluation.quiz={type='completion',path='quiz.jsonl'}", *metric).err
        ((val_loss,),) = self.rows("SELECT last FROM series WHERE name = 'val/loss'")
        ((last, best, step),) = self.rows("SELECT last, max, max_step FROM series WHERE name = 'quiz/acc'")
        self.assertIn(f"finished at step 6/6, val loss {val_loss:.4f}, quiz/acc {last:.4f} (best {best:.4f} at step {step}), ",
                      said)
        shown = {0: "0", 1: "1.000"}  # of one question
        value = f"quiz/acc {shown[last]}" + (f", best {shown[best]} at step {step}" if step < 6 else "")
        for words in ("resume", "@last"), ("tiny.toml", "steps=6", "evaluation.quiz={type='completion',path='quiz.jsonl'}", *metric):
            self.assertIn(f"\n  metric      {value}\n", self.exprun(*words).out)
        self.assertIn(f"\n# metric      {value}\n", self.exprun("show", "@last").out)
        self.assertRegex(self.exprun("watch", "@last", "--once").out, rf"(?m)^train/loss .*  quiz/acc \S+ \(best {shown[best]} at step {step}\)  ")

    def test_the_best_checkpoint_stays_and_is_looked_at(self):
        said = self.exprun("tiny.toml", *WORSE).err
        step, value = self.best()
        self.assertTrue(0 < step < 50, step)
        self.assertIn(f"\n  exprun sample {self.run_folder().name} --step best   generates text with its best checkpoint, of step {step}\n", said)
        self.assertEqual(self.saved(), [step, 50, 60])
        self.assertEqual(self.rows("SELECT step FROM checkpoint ORDER BY step"), [(step,), (50,), (60,)])
        looked_at = json.loads(self.exprun("eval", "@last", "--step", "best", "--json").out)
        self.assertEqual((looked_at["step"], looked_at["metrics"]), (step, {"val/loss": value}))
        self.assertEqual(json.loads(self.exprun("eval", "@last", "--step", "50", "--json").out)["step"], 50)
        self.assertEqual(json.loads(self.exprun("eval", "@last", "--step=last", "--json").out)["step"], 60)
        texts = {self.exprun("sample", "@last", "--step", which, "--prompt=7", "temperature=0").out
                 for which in ("best", str(step))}
        self.assertEqual(len(texts), 1)
        name = self.run_folder().name
        self.assertEqual(self.exprun("sample", "@last", "--step", "7", "--prompt=7", code=2).err,
                         f"exprun: error: sample: {name} has no checkpoint of step 7; it has those of steps "
                         f"{step}, 50 and 60\n")

    def test_the_best_run_means_its_best_checkpoint(self):
        self.exprun("tiny.toml", *WORSE)
        best, (step, _) = self.run_folder(), self.best()
        taken = f"exprun: taking its best checkpoint, of step {step} (--step last takes the newest)\n"
        said = self.exprun("eval", "@best", "--json")
        self.assertEqual((json.loads(said.out)["step"], taken in said.err), (step, True))
        self.assertIn(taken, self.exprun("sample", "@best", "tokens=1").err)
        self.assertIn(f" of step {step} to out", self.exprun("export", "@best", "--huggingface", "out").err)
        self.assertIn(f"exprun: forking step {step} of ", self.exprun("fork", "@best", "seed=2", f"run.steps={step + 1}", "name=forked").err)
        self.exprun("rm", "forked")
        for words in ("@best", "--step", "last"), ("tiny",):
            self.assertEqual(json.loads(self.exprun("eval", *words, "--json").out)["step"], 60)
        self.exprun("tiny.toml", "steps=2", "name=warm", "init_from=@best")
        self.assertIn(f'checkpoints/step_{step:08}"\n', self.exprun("show", "warm").out)
        self.exprun("rm", "warm")
        flip_a_bit(best / f"checkpoints/step_{step:08}/model.safetensors")
        for command in ("check",), ():
            said = self.exprun(*command, "tiny.toml", "steps=3", "name=warm", "init_from=@best", "lr=-1", code=2).err
            self.assertIn(f"<override 3>:1:11: error: the checkpoint of step {step} of {best.name} is damaged: model.safetensors has other "
                          "content than the manifest says; bring back a copy of it, or choose another\n", said)
            self.assertIn("'lr' must be", said)
        (best / f"checkpoints/step_{step:08}/MANIFEST.json").unlink()
        self.assertIn(f"error: {best.name} has no checkpoint of its best step, {step}, that is intact: step_{step:08}: MANIFEST.json is "
                      "missing; it has those of steps 50 and 60\n",
                      self.exprun("tiny.toml", "steps=3", "name=warm", "init_from=@best", code=2).err)
        self.exprun("eval", "@best", code=1)
        shutil.rmtree(best / f"checkpoints/step_{step:08}")
        taken = f"exprun: warning: {best.name} has no checkpoint of its best step, {step}, any more; taking the newest, of step 60\n"
        for words in ("tiny.toml", "steps=3", "name=warm", "init_from=@best"), ("sample", "@best", "tokens=1"):
            self.assertIn(taken, self.exprun(*words).err)

    def test_the_best_checkpoint_is_refused_where_it_is_the_newest_and_damaged(self):
        self.exprun("tiny.toml", "steps=20", "checkpoint.every=10 steps")
        newest = self.run_folder() / "checkpoints/step_00000020"
        self.assertEqual(self.best()[0], 20)
        flip_a_bit(newest / "model.safetensors")
        for words in ("eval", "@best"), ("eval", "@last", "--step", "best"):
            self.assertIn("the checkpoint of step 20 of ", self.exprun(*words, code=1).err)
        (newest / "MANIFEST.json").unlink()
        self.assertIn("exprun: warning: skipped a checkpoint: step_00000020: MANIFEST.json is missing\n", self.exprun("eval", "@best").err)

    def test_damaged_weights_are_refused_by_their_path_too(self):
        self.exprun("tiny.toml", "steps=20")
        checkpoint = self.run_folder() / "checkpoints/step_00000020"
        copied = shutil.copytree(checkpoint, self.folder / "copied")
        exported = self.folder / "exported"
        self.exprun("export", "@last", "--huggingface", str(exported))
        warm = "tiny.toml", "steps=2", "name=warm"
        paths = checkpoint, checkpoint / "model.safetensors", copied, exported
        for path in paths:
            self.exprun("check", *warm, f"init_from={path}")
        shutil.copy(exported / "model.safetensors", self.folder / "sound")
        for folder in checkpoint, copied, exported:
            flip_a_bit(folder / "model.safetensors")
        for path in paths:
            for command in ("check",), ():
                self.assertIn(f"error: '{path}' is damaged: model.safetensors has other content than the manifest says\n",
                              self.exprun(*command, *warm, f"init_from={path}", code=2).err)
        shutil.copy(self.folder / "sound", exported / "other.safetensors")
        self.exprun("check", *warm, f"init_from={exported}/other.safetensors")  # which the manifest does not know
        shutil.copy(self.folder / "sound", checkpoint / "other.safetensors")
        self.exprun("check", *warm, f"init_from={checkpoint}/other.safetensors")
        (checkpoint / "other.safetensors").unlink()
        (exported / "MANIFEST.json").unlink()  # as one who has changed the weights is told
        self.exprun("check", *warm, f"init_from={exported}")
        (checkpoint / "MANIFEST.json").unlink()
        self.assertIn(f"error: '{checkpoint}' is damaged: MANIFEST.json is missing\n",
                      self.exprun("check", *warm, f"init_from={checkpoint}", code=2).err)

    def test_why_the_best_checkpoint_is_not_there_is_said(self):
        self.exprun("tiny.toml", *WORSE, "keep_best=none")
        step, _ = self.best()
        self.assertIn(f"has no checkpoint of its best step, {step}: with checkpoint.keep_best = \"none\" it is not kept; taking the newest, "
                      "of step 60\n", self.exprun("eval", "@best").err)

    def test_a_report_names_the_checkpoint_that_a_run_begins_with(self):
        self.exprun("tiny.toml", "steps=4")
        name = self.run_folder().name
        self.exprun("tiny.toml", "steps=2", f"init_from={name}")
        self.assertIn(f"  step 4 of {name}  ", self.exprun("report").out)
        self.assertIn(f",runs/{name}/checkpoints/step_00000004,", self.exprun("report", "--csv").out)

    def test_the_best_run_of_several_datasets_is_said_to_be_one_of_them(self):
        self.exprun("tiny.toml", "steps=4")
        best = self.run_folder().name
        self.assertEqual(self.exprun("sample", "@best", "tokens=1").err.splitlines()[0], f"exprun: @best is {best}")
        self.write("other.txt", (self.folder / "text.txt").read_text()[::-1])
        self.exprun("tiny.toml", "steps=1", "path=other.txt")
        self.assertEqual(self.exprun("sample", "@best", "tokens=1").err.splitlines()[0],
                         f"exprun: @best is {best}; the runs compared were trained on 2 different datasets, so their losses may not be "
                         "comparable")
        self.assertIn("trained on 2 different datasets", self.exprun("tiny.toml", "steps=1", "name=warm", "init_from=@best").err)

    def test_without_keep_best_only_the_newest_stay(self):
        self.exprun("tiny.toml", *WORSE, "keep_best=none")
        step, _ = self.best()
        self.assertEqual(self.saved(), [50, 60])
        name = self.run_folder().name
        self.assertEqual(self.exprun("eval", "@last", "--step", "best", code=1).err,
                         f"exprun: error: eval: {name} has no checkpoint of its best step, {step}: with "
                         "checkpoint.keep_best = \"none\" it is not kept; it has those of steps 50 and 60\n")

    def test_a_run_that_is_resumed_keeps_the_best_of_its_earlier_attempt(self):
        self.exprun("tiny.toml", *WORSE, "max_minutes=1e-5", code=75)
        self.exprun("resume", "@last", "max_minutes=10")
        step, _ = self.best()
        self.assertEqual(self.saved(), [step, 50, 60])

    def test_given_weights_that_only_get_worse_are_kept(self):
        self.exprun("tiny.toml")
        tuned = ("tiny.toml", "name=tuned", f"init_from=runs/{self.run_folder().name}/checkpoints/step_00000040", "lr=0.3",
                 "steps=4000", "checkpoint.every=2000 steps")
        process = self.start(*tuned)
        saved = "SELECT step FROM checkpoint WHERE run = (SELECT max(run) FROM runs)"
        self.wait_until(lambda: self.rows(saved) == [(0,)], process)
        kill(process)
        process.communicate()
        self.assertEqual(self.saved(), [0])
        self.exprun("resume", "@last")
        self.assertEqual(self.saved(), [0, 2000, 4000])
        ((best,),) = self.rows("SELECT min FROM series JOIN runs USING (run) WHERE series.name = 'val/loss' AND "
                               "runs.name = 'tuned' AND min_step = 0")
        looked_at = json.loads(self.exprun("eval", "@last", "--step", "best", "--json").out)
        self.assertEqual((looked_at["step"], looked_at["metrics"]), (0, {"val/loss": best}))
        self.exprun("--store", "whole", *tuned)
        losses = ("SELECT step, value FROM metrics JOIN runs USING (run) WHERE metrics.name = 'train/loss' AND runs.name = 'tuned' "
                  "ORDER BY step")
        self.assertEqual(self.rows(losses), self.rows(losses, store="whole"))

    def test_given_weights_that_are_not_there_are_not_called_untrained(self):
        self.exprun("tiny.toml")
        tuned = ("tiny.toml", f"init_from=runs/{self.run_folder().name}/checkpoints/step_00000040", "lr=1", "steps=20",
                 "checkpoint.every=10 steps")
        said = "exprun: error: eval: {} has no checkpoint of its best step, 0: {}; it has those of steps 10 and 20\n"
        self.exprun(*tuned, "name=forgotten", "keep_best=none")
        self.assertEqual(self.exprun("eval", "@last", "--step", "best", code=1).err,
                         said.format(self.run_folder().name, 'with checkpoint.keep_best = "none" it is not kept'))
        self.exprun(*tuned, "name=deleted")
        shutil.rmtree(self.run_folder() / "checkpoints/step_00000000")
        self.assertEqual(self.exprun("eval", "@last", "--step", "best", code=1).err,
                         said.format(self.run_folder().name, "it was deleted, or the run began with a version of exprun that did "
                                                             "not save given weights"))

    def test_a_run_from_random_weights_saves_none_before_its_first_update(self):
        self.exprun("tiny.toml", "lr=3", "steps=20", "checkpoint.every=10 steps")
        self.assertEqual(self.best()[0], 0)
        self.assertEqual(self.saved(), [10, 20])
        self.assertEqual(self.exprun("eval", "@last", "--step", "best", code=1).err,
                         f"exprun: error: eval: {self.run_folder().name} has no checkpoint of its best step, 0: untrained "
                         "weights are not saved; it has those of steps 10 and 20\n")

    def test_a_fork_has_a_best_of_its_own(self):
        self.exprun("tiny.toml", *WORSE)
        _, best_of_origin = self.best()
        self.exprun("fork", "@last", "run.steps=80")
        ((step, value),) = self.rows("SELECT min_step, min FROM series WHERE name = 'val/loss' AND run = 2")
        self.assertGreater(step, 60)
        self.assertGreater(value, best_of_origin)
        looked_at = json.loads(self.exprun("eval", "@last", "--step", "best", "--json").out)
        self.assertEqual((looked_at["step"], looked_at["metrics"]), (step, {"val/loss": value}))

    def test_no_evaluation_means_no_best_checkpoint(self):
        self.exprun("tiny.toml", "steps=6", "~evaluation", "metrics.val_loss=false")
        self.assertIn('keep_best = "auto"  # derived: "none"', self.exprun("show", "@last").out)
        name = self.run_folder().name
        self.assertEqual(self.exprun("eval", "@last", "--step", "best", code=1).err,
                         f"exprun: error: eval: {name} has no best checkpoint: no evaluation has measured its "
                         f"run.best_metric before a checkpoint; --step N chooses one, and it has those of steps 5 and 6\n")

    def test_what_is_no_step_is_refused(self):
        self.assertEqual(self.exprun("eval", "@last", "--step", "bset", code=2).err,
                         "exprun: error: eval: --step takes a number of steps, best or last, not 'bset'\n")

    def test_one_metric_says_what_is_best(self):
        self.assertEqual(self.exprun("check", "tiny.toml", "keep_best=train/loss", code=2).err.split("\n")[0],
                         "<override 1>:1:11: error: 'keep_best' must be the run's best_metric, 'val/loss', or none")


if __name__ == "__main__":
    unittest.main()
