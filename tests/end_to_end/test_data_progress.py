"""How far `exprun data prepare` is: what a terminal shows meanwhile, and what a log gets."""
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unittest

from byte_level import tokenizer_json
from shells import has_terminals
from support import BUILD, TIMEOUT, ExprunTest

ENDLESS = 1 << 40  # bytes that nobody reads to their end


class DataProgress(ExprunTest):
    def start_preparing(self, *words, errors, **more):
        process = subprocess.Popen([BUILD / "exprun", "data", "prepare", *words], cwd=self.folder, stderr=errors,
                                   stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"}, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, expected, end, meanwhile=None):
        """Reads what is shown until it matches."""
        shown, late = b"", time.monotonic() + TIMEOUT
        while not re.search(expected, shown):
            self.assertLess(time.monotonic(), late, shown)
            if meanwhile:
                meanwhile()
            if select.select([end], [], [], 0.05)[0]:
                more = b""
                with contextlib.suppress(OSError):  # what a terminal says when nobody writes to it any more
                    more = os.read(end, 65536)
                self.assertTrue(more, shown)
                shown += more

    def open_terminal(self):
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 200, 0, 0))
        return terminal, end

    def assert_shown(self, expected, *words):
        terminal, end = self.open_terminal()
        process = self.start_preparing(*words, errors=end, stdin=subprocess.DEVNULL)
        os.close(end)
        self.wait_for(expected, terminal)
        process.kill()
        process.wait()

    def test_a_terminal_shows_every_stage(self):
        with open(self.folder / "endless.txt", "wb") as file:
            file.write(b"A text begins as one.\n" * 4096)  # what is looked at to tell text from other files
            file.truncate(ENDLESS)  # a hole takes no room
        self.write("small.json", tokenizer_json())
        bpe = ("tokenizer=huggingface", "vocabulary=small.json")
        self.assert_shown(rb"counting: .* of 1\.00 TiB", "path=endless.txt", *bpe, "--out", "a")
        self.assert_shown(rb"counting: .* of 1\.00 TiB", "path=endless.txt", "separator=end", "--out", "b")
        self.assert_shown(rb"reading characters: .* of 1\.00 TiB", "path=endless.txt", "tokenizer=char", "--out", "c")
        self.assert_shown(rb"preparing: .* of 1\.00 TiB", "path=endless.txt", "validation_fraction=0", "--out", "d")

    def test_a_terminal_shows_how_far_sources_are_compared(self):
        skipped = (1 << 32) - 16
        with open(self.folder / "long.zst", "wb") as file:  # next to nothing to prepare, and much to compare
            file.write(struct.pack("<2I", 0x184D2A50, skipped))
            file.seek(skipped, os.SEEK_CUR)
            file.write(struct.pack("<IBB", 0xFD2FB528, 0x20, 5) + (5 << 3 | 1).to_bytes(3, "little") + b"hello")
        words = ("path=long.zst", "validation_fraction=0", "--out", "made")
        self.assertEqual(self.start_preparing(*words, errors=subprocess.DEVNULL).wait(timeout=TIMEOUT), 0)
        self.assert_shown(rb"comparing: .* of 4\.00 GiB", *words)

    def prepare_standard_input(self, errors):
        return self.start_preparing("path=-", "validation_fraction=0", "--out", "made", errors=errors, stdin=subprocess.PIPE)

    def feed(self, process, shown):
        """Standard input has no end until it is shown how far it is."""
        block = b"All work and no play makes a dull text.\n" * 10_000
        self.wait_for(rb"preparing: .* MiB, .* MiB/s", shown, lambda: process.stdin.write(block))
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)

    def test_a_terminal_shows_what_was_read_of_standard_input(self):
        terminal, end = self.open_terminal()
        process = self.prepare_standard_input(end)
        os.close(end)
        self.feed(process, terminal)

    def test_a_log_gets_a_line_now_and_then(self):
        process = self.prepare_standard_input(subprocess.PIPE)
        self.feed(process, process.stderr.fileno())


if __name__ == "__main__":
    unittest.main()
