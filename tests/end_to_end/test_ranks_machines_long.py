"""Several machines whose commands are given minutes apart."""
import time
import unittest

from test_ranks_machines import WORDS, OnOneHost


class SlowPeople(OnOneHost):
    def test_a_machine_that_has_waited_hears_at_once_of_a_mistake(self):
        second = self.start_on(1, 2, *WORDS)
        time.sleep(40)
        first = self.start_on(0, 2, *WORDS, "lr=-1")
        self.assertEqual([result.code for result in self.finish_all((first, second))], [2, 2])


if __name__ == "__main__":
    unittest.main()
