"""Run benchmarks at each SIMD level that this CPU has: `python -m benchmarks.levels gibbs trees`.

The level is fixed when the compiled core is imported, so that each run has a process of its own;
runs follow each other, so that all levels meet the same machine. Every benchmark keeps its tables
by level.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from labelweave._cpu import levels

BENCHMARKS = (
    *("logistic", "search", "gibbs", "structure", "trees", "online"),
    *("f_measure", "marginals", "flat_chains", "kernel_features"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.levels", description=__doc__)
    parser.add_argument("names", nargs="*", default=BENCHMARKS, help=f"of {' '.join(BENCHMARKS)}")
    parser.add_argument("--levels", nargs="*", default=levels()[::-1], help="all that the CPU has")
    arguments = parser.parse_args()
    for name in arguments.names:
        for level in arguments.levels:
            print(f"{name} at SIMD level {level}", flush=True)
            command = [sys.executable, "-m", f"benchmarks.{name}"]
            subprocess.run(command, env=os.environ | {"LABELWEAVE_SIMD": level}, check=True)


if __name__ == "__main__":
    main()
