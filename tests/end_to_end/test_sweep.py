"""A sweep that is stopped, or that cannot go on, says so and is recorded so."""
import json
import os
import signal
import unittest

from support import ExprunTest, children


class Sweep(ExprunTest):
    def begin(self):
        process = self.start("sweep", "tiny.toml", "seed=1,2", "steps=100000000", "checkpoint.every='1000000 steps'")
        self.wait_for_step(20, process)
        return process

    def assert_stopped_in_the_first_trial(self, state):
        self.assertEqual(self.rows("SELECT state FROM runs"), [(state,)])
        self.assertEqual(self.rows("SELECT state FROM sweep"), [("interrupted",)])

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

    def test_a_trial_that_cannot_begin_ends_the_sweep_as_failed(self):
        self.exprun("sweep", "tiny.toml", "dataset.path=text.txt,nothing.txt", "steps=2", code=2)
        self.assertEqual(self.rows("SELECT state FROM runs"), [("finished",)])
        self.assertEqual(self.rows("SELECT state FROM sweep"), [("failed",)])

    def test_a_trial_that_diverged_is_not_the_best_and_how_it_starts_anew_is_said(self):
        line = ("sweep", "tiny.toml", "lr=1e30,1e-2", "max_grad_norm=0", "steps=5", "evaluation.val_loss.every=1 steps")
        for words in (line, line, (*line, "--retry-failed")):
            said = self.exprun(*words, code=6).err
            self.assertIn("[1/2] lr=1e30: diverged at step 2, best ", said)
            self.assertLessEqual(said.count("nan"), 1)
            self.assertRegex(said, r"(?s): 1 of 2 trials finished, 1 failed; --retry-failed starts anew what failed\n"
                                   r"exprun: best: lr=1e-2, val/loss [^\n]*\n\Z")
        self.assertEqual(self.rows("SELECT state, count(*) FROM runs GROUP BY state ORDER BY state"),
                         [("diverged", 2), ("finished", 1)])

    def test_a_trial_that_was_killed_is_not_the_best_and_the_same_line_goes_on(self):
        process = self.start("sweep", "tiny.toml", "lr=1e-2,2e-2", "steps=400")
        self.wait_for_step(0, process)
        os.kill(children(process.pid)[0], signal.SIGKILL)
        said = self.finish(process)
        self.assertEqual(said.code, 6, said.err)
        self.assertRegex(said.err, r": 1 of 2 trials finished, 1 failed; the same line goes on\n"
                                   r"exprun: best: lr=2e-2, ")

    def test_a_trial_that_runs_elsewhere_is_not_the_best(self):
        line = ("sweep", "tiny.toml", "steps=100000000,2", "evaluation.val_loss.every=1 steps")
        process = self.start(*line)
        self.wait_for_step(20, process)
        said = self.exprun(*line).err
        self.assertRegex(said, r": 1 of 2 trials finished, 1 running elsewhere\nexprun: best: steps=2, ")

    def test_its_result_is_a_table_for_a_script(self):
        line = ("sweep", "tiny.toml", "lr=1e-3,1e-2", "steps=2")
        before = json.loads(self.exprun(*line, "--dry-run", "--json").out)
        self.assertEqual([(row["state"], row["best"], row["run"]) for row in before], [("to run", None, None)] * 2)
        for words in ((), ("--dry-run",), ()):
            rows = json.loads(self.exprun(*line, *words, "--json").out)
            self.assertEqual([(row["trial"], row["changes"], row["state"], row["best_step"]) for row in rows],
                             [(1, "lr=1e-3", "finished", 2), (2, "lr=1e-2", "finished", 2)])
            self.assertEqual([(row["run"],) for row in rows], self.rows("SELECT folder FROM runs ORDER BY run"))
            self.assertGreater(rows[0]["best"], rows[1]["best"])
        self.assertEqual(self.exprun(*line, "--markdown").out.count("| finished |"), 2)
        self.assertEqual(self.exprun(*line).out, "")
        refused = self.exprun("sweep", "tiny.toml", "lr=3e-3,4e-3", "--json", "--csv", code=2)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2,)])
        self.assertIn("give one of --json", refused.err)

    def test_a_value_written_otherwise_is_the_same_sweep(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        self.exprun("sweep", "tiny.toml", "lr=0.001,0.002", "steps=2")
        self.assertEqual(self.rows("SELECT count(*) FROM sweep"), [(1,)])


if __name__ == "__main__":
    unittest.main()
