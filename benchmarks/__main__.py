"""Measure everything, print one table; the exit code is 1 if a floor is missed."""

import argparse
import sys

from . import axes, browser, core, diagnosis, kernels, named, precision, server
from .table import HEAD

GROUPS = {
    "core": core.figures,
    "diagnosis": diagnosis.figures,
    "kernels": kernels.figures,
    "server": server.figures,
    "browser": browser.figures,
    "named": named.figures,
    "axes": axes.figures,
    "precision": precision.figures,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME", choices=GROUPS, help=f"one group: {', '.join(GROUPS)}")
    only = parser.parse_args().only
    print(HEAD, "-" * len(HEAD), sep="\n", flush=True)
    missed = 0
    for name, figures in GROUPS.items():
        if only in (None, name):
            for figure in figures():
                print(figure, flush=True)
                missed += figure.missed
    print(f"\n{missed} floors are missed." if missed else "\nEvery floor holds.")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
