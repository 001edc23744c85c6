"""The programs that exprun is measured beside, in one virtual environment in the cache folder."""
import functools
import os
import pathlib
import shutil
import subprocess
import sys

from contest import Failed, last_line, ran
from machine import ROOT

FOLDER = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "exprun/bench-peers"
PYTHON = FOLDER / "bin/python"


def say(words):
    print(f"bench: {words}", file=sys.stderr, flush=True)


def works(python, *words):
    return subprocess.run([python, *words], capture_output=True, check=False).returncode == 0


@functools.cache
def has_environment():
    """Made once; again where making it was cut short."""
    if not (PYTHON.exists() and works(PYTHON, "-m", "pip", "--version")):
        shutil.rmtree(FOLDER, ignore_errors=True)
        if not works(sys.executable, "-m", "venv", FOLDER):
            raise Failed("this Python makes no virtual environment (Debian, Ubuntu: python3-venv)")
    return True


@functools.cache
def python_with(package, module):
    """An interpreter that imports the package, which is installed by name if it is missing. Raises Failed."""
    has_environment()
    if not works(PYTHON, "-c", f"import {module}"):
        say(f"installing {package} into {FOLDER} (once)")
        command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"pip could not install {package}: {last_line(done.stderr)}")
        ran([PYTHON, "-c", f"import {module}"])
    return PYTHON


@functools.cache
def torch_python():
    """One with the torch of LibTorch's version. Raises Failed."""
    return ran([ROOT / "tools/setup/torch_python"], timeout=1800).strip()
