"""What a terminal and a log see of `exprun data fetch` while the server holds the rest of a file back."""
import os
import pty
import re
import select
import subprocess
import time
import unittest

from fetching import ALPACA, FetchTest
from shells import has_terminals
from support import TIMEOUT

# The catalogue has no size of this file: what is left of it is known by the server's answer.
LINE = (rf"fetching: {len(ALPACA) / 2**21:.2f} MiB of {len(ALPACA) / 2**20:.2f} MiB, "
        r"[0-9.]+ [KM]?i?B/s, ETA [0-9.]+ [a-z]+(?: [0-9]+ [a-z]+)?")


class Progress(FetchTest):
    def setUp(self):
        super().setUp()
        self.server.faults = ["held"]

    def start_with_errors_to(self, file):
        process = subprocess.Popen(self.command("alpaca"), cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                                   stderr=file)
        self.addCleanup(process.kill)
        os.close(file)
        return process

    def ends_well(self, process):
        self.server.go.set()
        self.assertEqual((process.communicate(timeout=TIMEOUT)[0], process.returncode), (b"data/alpaca_data.json\n", 0))

    def read_until(self, file, pattern):
        """Of what the process writes, up to the pattern."""
        said, late = "", time.monotonic() + TIMEOUT
        while not re.search(pattern, said):
            self.assertLess(time.monotonic(), late, said)
            if select.select([file], [], [], 1)[0]:
                said += os.read(file, 65536).decode()
        return said

    @unittest.skipUnless(has_terminals(), "this machine gives no terminals")
    def test_a_terminal_sees_one_line_that_is_written_anew(self):
        mine, theirs = pty.openpty()
        self.addCleanup(os.close, mine)
        process = self.start_with_errors_to(theirs)
        self.assertNotIn("\n", self.read_until(mine, LINE))
        self.ends_well(process)
        self.assertRegex(self.rest(mine), "\r\x1b\\[K$")

    def test_a_log_sees_a_line_now_and_then(self):
        mine, theirs = os.pipe()
        self.addCleanup(os.close, mine)
        process = self.start_with_errors_to(theirs)
        self.assertRegex(self.read_until(mine, "\n"), f"^exprun: {LINE}\n$")
        self.ends_well(process)
        self.assertEqual(self.rest(mine), "")

    @staticmethod
    def rest(file):
        """What is left when the process has ended."""
        said = b""
        try:
            while more := os.read(file, 65536):
                said += more
        except OSError:  # so a terminal ends
            pass
        return said.decode()


if __name__ == "__main__":
    unittest.main()
