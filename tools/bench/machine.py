"""The machine that is measured, and how it is limited to a lesser instruction set, for both sides alike."""
import os
import pathlib
import platform

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a library takes at most. Ours and ATen's kernels follow the last.
LIMITS = {"avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}}


def cpu_lines(name):
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.split(":", 1)[1].strip() for line in lines if line.startswith(name)]


def flags():
    return set((cpu_lines("flags") or [""])[0].split())


def cores():
    return len(os.sched_getaffinity(0))


class Machine:
    """`instructions`: what both sides are limited to, or None."""

    def __init__(self, instructions=None, threads=None):
        has = flags()
        widest = "avx512" if "avx512f" in has else "avx2" if "avx2" in has else "sse4"
        self.instructions = instructions if instructions and widest != "sse4" else widest
        self.limited = self.instructions != widest
        self.bf16 = not self.limited and bool(has & {"avx512_bf16", "amx_bf16"})
        self.threads = threads or cores()
        self.environment = {"OMP_NUM_THREADS": str(self.threads), **(LIMITS[instructions] if self.limited else {})}

    def __str__(self):
        limited = " (limited)" if self.limited else ""
        return (f"{(cpu_lines('model name') or [platform.processor()])[0]}, {cores()} cores, {self.threads} threads, "
                f"{self.instructions}{limited}{', bf16' if self.bf16 else ''}, load {os.getloadavg()[0]:.1f}, "
                f"{platform.system()} {platform.release()}")
