"""Make."""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import JOBS, BuildProposal, shell
from runner.adoption.sources import Sources

_TARGET = re.compile(r"^([A-Za-z0-9_.-]+)\s*:(?!=)", re.MULTILINE)
_USUAL = ("all", "benchmark", "benchmarks", "bench", "examples", "test", "tests")


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose the default target, then the usual targets that the file has."""
    file = sources.place_of("GNUmakefile", "makefile", "Makefile")
    if file is None:
        return []
    folder = PurePosixPath(file).parent
    where = "" if str(folder) == "." else f" -C {folder}"
    targets = set(_TARGET.findall(sources.text(file)))
    wanted = ["", *(f" {name}" for name in _USUAL if name in targets)]
    return [BuildProposal("Make", shell(f"make{where} {JOBS}{target}"), ("make",)) for target in wanted]
