"""Fuzz for some minutes: ``python -m tests.fuzz --minutes 5 --seed 1``, or ``make test-fuzz``.

Every target runs in a process of its own, so that a crash is noticed. A case that breaks a promise
is printed with its traceback and its seed is added to ``seeds.txt``, which the tests run again.
"""

from __future__ import annotations

import argparse
import faulthandler
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.targets import TARGETS, run_case

SEEDS = Path(__file__).with_name("seeds.txt")
# Nothing takes so long unless it hangs.
PATIENCE = 120


def kept_seeds() -> list[tuple[str, int]]:
    """Return the cases that were broken once."""
    lines = [line.split("#")[0].split() for line in SEEDS.read_text("utf-8").splitlines()]
    return [(target, int(seed)) for target, seed in filter(None, lines)]


def work(target: str, first: int, seconds: float) -> None:
    """Run cases of one target, in this process; print the seed of each before it begins."""
    faulthandler.enable()
    stop, seed = time.monotonic() + seconds, first
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < stop:
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            print(seed, flush=True)
            run_case(target, seed, Path(folder))
            seed += 1


def fuzz(target: str, first: int, seconds: float) -> bool:
    """Run cases of one target in another process; return whether all kept their promises."""
    words = [sys.executable, "-m", "tests.fuzz", "--work", target]
    words += ["--seed", str(first), "--minutes", str(seconds / 60)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    seeds = done.stdout.split()
    print(f"{target}: {len(seeds)} cases from seed {first}", flush=True)
    if done.returncode == 0:
        return True
    print(f"{target}: broken by seed {seeds[-1] if seeds else first}")
    if seeds:
        with SEEDS.open("a", encoding="utf-8") as file:
            file.write(f"{target} {seeds[-1]}\n")
    return False


def main() -> int:
    """Share the time among the targets."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first case of each target")
    parser.add_argument("--target", choices=list(TARGETS), action="append")
    parser.add_argument("--work", choices=list(TARGETS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    seed = time.time_ns() // 1_000_000 if options.seed is None else options.seed
    seconds = 60 * options.minutes
    if options.work:
        work(options.work, seed, seconds)
        return 0
    targets = options.target or list(TARGETS)
    kept = [fuzz(each, seed, seconds / len(targets)) for each in targets]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
