"""The end of a test's folder."""
import os
import shutil
import time

TIMEOUT = 10  # seconds


def remove(folder):
    """Again until it is gone: processes that have been killed, but are not ours to wait for, may write until they end."""
    late = time.monotonic() + TIMEOUT
    shutil.rmtree(folder, ignore_errors=True)
    while os.path.exists(folder) and time.monotonic() < late:
        time.sleep(0.05)
        shutil.rmtree(folder, ignore_errors=True)
