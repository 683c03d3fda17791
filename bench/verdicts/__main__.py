"""Runs all modules of this package with fresh seeds. ``make bench-verdicts``; arguments name the modules to run.

Each module has ``run(seed) -> (figures, misses)``.
"""

import pkgutil
import secrets
import sys
import time
from importlib import import_module

import bench.verdicts
from bench.report import finish_report, show_steps


def main() -> None:
    """Run the modules, print what each measured, and finish."""
    names = sorted(module.name for module in pkgutil.iter_modules(bench.verdicts.__path__) if module.name[0] != "_")
    misses: list[str] = []
    figures: dict[str, object] = {}
    for name in show_steps(sys.argv[1:] or names, "modules"):
        run = getattr(import_module(f"bench.verdicts.{name}"), "run", None)
        if run is None:
            continue
        seed, started = secrets.randbits(32), time.monotonic()
        measured, missed = run(seed)
        print(f"{name}, seed {seed}, {time.monotonic() - started:.0f} s")
        for what, figure in measured.items():
            print(f"  {what:<58}{figure}")
        figures[name] = {"seed": seed, **measured}
        misses += [f"{name}: {miss}" for miss in missed]
    finish_report("verdicts", misses, figures)


if __name__ == "__main__":
    main()
