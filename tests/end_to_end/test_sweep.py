"""A sweep that is stopped, or that cannot go on, says so and is recorded so."""
import signal
import unittest

from support import ExprunTest


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
        self.assertEqual(self.finish(process, timeout=20).code, 130)
        self.assert_stopped_in_the_first_trial("interrupted")

    def test_a_stop_that_does_not_wait_for_the_trial_ends_the_sweep(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        # Which of the two is seen first is the kernel's choice.
        self.assertIn(self.finish(process, timeout=20).code, (130, 143))
        self.assert_stopped_in_the_first_trial("killed")

    def test_a_trial_that_cannot_begin_ends_the_sweep_as_failed(self):
        self.exprun("sweep", "tiny.toml", "dataset.path=text.txt,nothing.txt", "steps=2", code=2)
        self.assertEqual(self.rows("SELECT state FROM runs"), [("finished",)])
        self.assertEqual(self.rows("SELECT state FROM sweep"), [("failed",)])

    def test_a_value_written_otherwise_is_the_same_sweep(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,2e-3", "steps=2")
        self.exprun("sweep", "tiny.toml", "lr=0.001,0.002", "steps=2")
        self.assertEqual(self.rows("SELECT count(*) FROM sweep"), [(1,)])


if __name__ == "__main__":
    unittest.main()
