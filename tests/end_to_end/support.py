"""What the end-to-end tests stand on: a folder of its own, the built exprun, its store read by plain SQL."""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import temporary_folder  # noqa: E402
BUILD = pathlib.Path(os.environ.get("EXPRUN_BUILD", ROOT / "build"))
FAKE_DRIVER = BUILD / "fake_nvml"
TIMEOUT = 300  # seconds: ends what hangs, also on a slow machine, before ranks give up an exchange after 10 min

# Whatever ran the tests may have had these ignored (nohup, a shell's background job), and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A model that makes a step in a millisecond. `deterministic` spares it the measuring of kernels; with
# two threads they would wait for each other on a busy machine.
TINY = """\
[run]
name = "tiny"
steps = 40
deterministic = true
threads = 1

[model]
type = "gpt"
num_layers = 1
num_heads = 2
hidden_size = 16
context_length = 16

[dataset]
type = "text"
path = "text.txt"
tokenizer = "char"

[batch]
sequences = 4

[optimizer]
type = "adamw"
lr = 1e-2

[schedule]
type = "constant"
"""
TEXT = "".join(f"{n} little ships went out to sea, {n * n} came home to me.\n" for n in range(400))


def fixture(test, relative):
    """A file of other projects' data: skips the test without it, fails it where EXPRUN_FIXTURES was set."""
    given = os.environ.get("EXPRUN_FIXTURES")
    path = pathlib.Path(ROOT, given or "../shared", relative)
    if not path.exists():
        if given:
            test.fail(f"fixture {path} is missing below EXPRUN_FIXTURES")
        test.skipTest(f"no fixture {path}")
    return path


def free_ports(count):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


class ExprunTest(unittest.TestCase):
    """Each test has a folder of its own with a recipe, tiny.toml, and its text; runs/ is made there. It sees no GPU of
    the machine, unless it says so: all else is about the CPU."""

    maxDiff = None
    sees_gpus = False
    timeout = TIMEOUT
    program = BUILD / "exprun"

    def setUp(self):
        if not self.sees_gpus:
            self.hide_gpus()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="exprun-test-"))
        self.addCleanup(temporary_folder.remove, self.folder)
        self.write("tiny.toml", TINY)
        self.write("text.txt", TEXT)

    def hide_gpus(self):
        hidden = mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": ""})
        hidden.start()
        self.addCleanup(hidden.stop)

    def expect_fake_driver(self):
        self.assertTrue((FAKE_DRIVER / "libnvidia-ml.so.1").exists(),
                        "what stands in for NVIDIA's driver is not built: tools/setup/all fake_nvml")

    @contextlib.contextmanager
    def fake_driver(self, **environment):
        """Within it the machine's GPUs are those of a library that stands in for NVIDIA's."""
        self.expect_fake_driver()
        libraries = [str(FAKE_DRIVER), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
        with mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": ":".join(filter(None, libraries))}):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            os.environ.update(environment)
            yield

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def start(self, *words, cwd=None, variables=None, stdin=subprocess.DEVNULL):
        """Starts exprun in a process group of its own, so that a signal can reach all of it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment |= {"XDG_CACHE_HOME": str(self.folder / "cache"), **(variables or {})}
        process = subprocess.Popen(
            [self.program, *map(str, words)], cwd=cwd or self.folder, env=environment, text=True, errors="replace",
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(end, process)
        return process

    def finish(self, process, timeout=None):
        out, err = process.communicate(timeout=timeout or self.timeout)
        return Result(process.returncode, out, err)

    def exprun(self, *words, cwd=None, code=0, stdin=""):
        """Runs exprun to its end, which must have this exit code; `stdin` is what it may read."""
        with self.write("stdin.txt", stdin).open() if stdin else open(os.devnull) as readable:
            result = self.finish(self.start(*words, cwd=cwd, stdin=readable))
        self.assertEqual(result.code, code, f"exprun {words}\n{result.out}\n{result.err}")
        return result

    def at_terminal(self, columns, *words, colors=True):
        """What a terminal of this width is given, which shows standard error too."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([self.program, *words], cwd=self.folder, stdin=follower, stdout=follower, stderr=follower,
                                   env={"TERM": "xterm"} | ({} if colors else {"NO_COLOR": "1"}), start_new_session=True)
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # Linux's answer where the other end is closed
            while part := os.read(leader, 65536):
                shown += part
        os.close(leader)
        self.assertEqual(process.wait(self.timeout), 0, shown)
        return shown.decode().replace("\r\n", "\n")

    def change_store(self, *statements):
        """Runs SQL in the store, past exprun: to make what a test needs."""
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as db, db:
            db.execute("PRAGMA foreign_keys = OFF")
            for statement in statements:
                db.execute(*(statement if isinstance(statement, tuple) else (statement,)))

    def rows(self, sql, *values, store="runs"):
        with contextlib.closing(sqlite3.connect(f"file:{self.folder / store}/exprun.db?mode=ro", uri=True)) as db:
            return db.execute(sql, values).fetchall()

    def state(self):
        """State of the newest run."""
        return self.rows("SELECT state FROM runs ORDER BY run DESC LIMIT 1")[0][0]

    def series(self, run):
        """All that must come out the same when a run is made again: what is no timing, by name and step."""
        return self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                         "WHERE NOT timing AND run = ? ORDER BY name, step", run)

    def run_folder(self):
        (name,) = self.rows("SELECT folder FROM runs ORDER BY run DESC LIMIT 1")[0]
        return self.folder / "runs" / name

    def wait_for_step(self, step, process, store="runs"):
        """Returns when the newest run has stored its loss of this step."""
        self.wait_until(lambda: self.last_step(store) >= step, process)

    def last_step(self, store="runs"):
        if not (self.folder / store / "exprun.db").exists():
            return -1
        with contextlib.suppress(sqlite3.OperationalError):  # the store is just being made
            (last,) = self.rows(LAST_STEP, store=store)[0]
            return -1 if last is None else last
        return -1

    def wait_until(self, happened, process):
        late = time.monotonic() + self.timeout
        while not happened():
            if process.poll() is not None:
                out, err = process.communicate()
                self.fail(f"exprun ended with {process.returncode} too early\n{out}\n{err}")
            self.assertLess(time.monotonic(), late, "exprun did not get there in time")
            time.sleep(0.01)


LAST_STEP = """
SELECT max(step) FROM metrics WHERE name = 'train/loss' AND run = (SELECT max(run) FROM runs)"""


def children(pid):
    with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
    return []


def kill(process):
    """SIGKILL for launcher and trainer; the trainer has a process group of its own."""
    for pid in [*children(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end(process):
    """Nothing of a test outlives it."""
    if process.poll() is None:
        kill(process)
    process.communicate()


def flip_a_bit(file):
    data = bytearray(file.read_bytes())
    data[-2] ^= 64
    file.write_bytes(data)


def digests(folder):
    """{file name: SHA-256} of every file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def tensors(path):
    """{name: bytes} of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: body[slice(*tensor["data_offsets"])] for name, tensor in header.items()}
