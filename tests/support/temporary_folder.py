"""The end of a test's folder."""
import contextlib
import os
import pathlib
import shutil
import signal
import time

TIMEOUT = 10  # seconds


def processes_in(folder):
    """Those whose working directory is the folder or lies in it."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended, or is not ours to look at
            if (process / "cwd").readlink().is_relative_to(folder) and int(process.name) != os.getpid():
                yield int(process.name)


def remove(folder):
    """With the processes that work in it: what runs in the background would write, and so make it anew."""
    late = time.monotonic() + TIMEOUT
    while (left := list(processes_in(folder))) and time.monotonic() < late:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)
