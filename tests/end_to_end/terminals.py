"""A terminal of its own for exprun: what is written there, and the page that it makes."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from shells import has_terminals
from support import BUILD, TIMEOUT

TAKEN, GIVEN_BACK = b"\x1b[?1049h\x1b[?25l\x1b[?7l", b"\x1b[?7h\x1b[?25h\x1b[?1049l"


def lines_left(written):
    """The lines that stand in a terminal after what exprun wrote there below each other: it draws over whole lines."""
    lines, row = [""], 0
    for part in re.split(r"(\n|\r|\x1b\[\d*[ABJK])", written.replace("\r\n", "\n")):
        count = int(re.sub(r"\D", "", part) or 1) if part.startswith("\x1b[") else 1
        if part == "\n" or part.endswith("B") and part.startswith("\x1b["):
            row += count
            lines += [""] * (row + 1 - len(lines))
        elif re.fullmatch(r"\x1b\[\d*A", part):
            row -= count
        elif part == "\x1b[K":
            lines[row] = ""
        elif part == "\x1b[J":
            lines[row:] = [""]
        elif part != "\r":
            lines[row] += part
    return lines


class Terminal:
    """A pseudo-terminal with exprun in it, and the page as it stands: the few codes that exprun writes. What it says on
    standard error comes through a pipe, unless `errors` is None. Where it `controls`, keys such as Ctrl-C are signals. Skips
    the test where there are no pseudo-terminals."""

    def __init__(self, test, *words, columns=100, lines=30, term="xterm", errors=subprocess.PIPE, colors=False, controls=False):
        if not has_terminals():
            test.skipTest("this machine has no pseudo-terminals")
        self.test = test
        self.terminal, self.end = pty.openpty()
        test.addCleanup(os.close, self.terminal)
        self.size(columns, lines)
        self.before = termios.tcgetattr(self.end)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment |= {"TERM": term, "NO_COLOR": "" if colors else "1", "XDG_CACHE_HOME": str(test.folder / "cache")}
        self.process = subprocess.Popen([BUILD / "exprun", *words], cwd=test.folder, stdin=self.end, stdout=self.end,
                                        stderr=errors or self.end, env=environment, start_new_session=True,
                                        preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controls else None)
        if errors:
            test.addCleanup(self.process.stderr.close)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        self.written, self.page = b"", {}

    def size(self, columns, lines):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def read(self, seconds):
        """What is written within that time."""
        more, late = b"", time.monotonic() + seconds
        while (left := late - time.monotonic()) > 0 and select.select([self.terminal], [], [], left)[0]:
            more += os.read(self.terminal, 65536)
        self.written += more
        return more

    def shown(self):
        page = {}
        for row, line in re.findall(r"\x1b\[(?:(\d+);1H\x1b\[2K|2J)([^\x1b]*)", self.written.decode(errors="replace")):
            if row:
                page[int(row)] = line
            else:
                page = {}
        return [page.get(row, "") for row in range(1, max(page, default=0) + 1)]

    def wait_for(self, pattern):
        self.read_until(pattern, lambda: "\n".join(self.shown()))

    def wait_for_lines(self, pattern):
        """In all that was written, where there is no page."""
        self.read_until(pattern, self.lines)

    def lines(self):
        return self.written.decode(errors="replace").replace("\r\n", "\n")

    def read_until(self, pattern, look):
        late = time.monotonic() + TIMEOUT
        while not re.search(pattern, look()):
            self.test.assertLess(time.monotonic(), late, f"{pattern} is not shown:\n{look()[-4000:]}")
            if self.process.poll() is not None:
                self.read(0.1)
                self.test.assertRegex(look()[-4000:], pattern, "exprun has ended")
            self.read(0.2)

    def ended(self):
        """Its exit code, once it has given the terminal back as it was."""
        code = self.process.wait(TIMEOUT)
        self.read(0.1)
        self.test.assertTrue(self.written.startswith(TAKEN), self.written[:40])
        self.test.assertTrue(self.written.endswith(GIVEN_BACK), self.written[-40:])
        self.test.assertEqual(termios.tcgetattr(self.end), self.before)
        return code
