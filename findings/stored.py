"""What is stored of a project in ``drifts/PROJECT.json``: which range was measured, on which machine, and what moved.

The files are not beside the workload files, because all that lies there belongs to the definition of a workload: what
is stored would begin new series.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from findings.releases import span_of

FOLDER = Path(__file__).parent
LEAST_PERCENT = 1.0
"""Drifts of this size are proven, and confirmed by hand. A smaller one can depend on the compiler."""


class ByHand(Struct, frozen=True):
    """The counts of a bare ``perf stat -e minor-faults``, of builds made without Faultwatch.

    Of a program each execution, of a server each start: its measured windows together.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


class Culprit(Struct, frozen=True, omit_defaults=True):
    """A commit that a bisect has found in the range of a drift, measured in turns with its parent."""

    commit: str
    parent: str
    subject: str
    before: int | float
    after: int | float
    proof: str
    """What the proof says, in the words of the product."""
    proven: bool
    by_hand: ByHand | None = None
    """None for what is smaller than the drifts that are counted by hand."""

    @property
    def is_large(self) -> bool:
        """Return whether it has to be counted by hand."""
        return 100 * abs(self.after - self.before) >= LEAST_PERCENT * self.before


class Drift(Struct, frozen=True, omit_defaults=True):
    """A change of the level of one case, as a history shows it."""

    case: str
    metric: str
    commit: str
    """The commit, or the newest one of several that can have caused the drift."""
    parent: str
    """The commit before all of them."""
    subject: str
    before: int | float
    after: int | float
    percent: float | None
    rule: str = "exact"
    """The rule of the detector that found it."""
    price: str = ""
    """What it costs or saves in CPU time, in the words of the product."""
    candidates: tuple[str, ...] = ()
    """All commits that can have caused it, if there are several. Not stored: the range says it."""
    culprits: tuple[Culprit, ...] = ()
    """Those of them that caused it. Only large drifts are searched."""
    not_proven: str = ""
    """Why there are none, where a search has proven nothing."""

    @property
    def change(self) -> int | float:
        """Return by how much the level moved."""
        return self.after - self.before

    @property
    def repeats(self) -> bool:
        """Return whether its levels are values that most executions show, and no estimates of a noisy count."""
        return self.rule in {"exact", "repeat"}

    @property
    def is_large(self) -> bool:
        """Return whether the drift has to be proven, and has to show with every compiler."""
        return self.percent is None or abs(self.percent) >= LEAST_PERCENT

    @property
    def causes(self) -> frozenset[str]:
        """Return the commits that caused it, as far as is known."""
        return frozenset(culprit.commit for culprit in self.culprits) or frozenset({self.commit})


class Machine(Struct, frozen=True):
    """What a count depends on besides the program."""

    compiler: str
    libc: str
    kernel: str
    path_length: int | None = None
    """Bytes of the path of a build, which a program can keep in its memory. None in files from before it was stored."""

    def counts_like(self, stored: "Machine") -> bool:
        """Return whether what was stored has to be counted here to the fault, as far as the stored machine is known."""
        return (self.compiler, self.libc) == (stored.compiler, stored.libc) and (
            stored.path_length in {None, self.path_length}
        )


class Counts(Struct, frozen=True):
    """How many revisions of the range were measured."""

    revisions: int
    measured: int
    same_bytes: int
    """Runs whose counts were taken over from a run of the same bytes."""
    failed: int
    not_judged: int
    """Runs that were stored and not judged."""
    runs: int
    """Runs: a revision has one for each case."""
    seconds: float


class Documents(Struct, frozen=True):
    """The commits that change documents only, none of which can move a count."""

    commits: int
    flagged: int


class History(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was measured of a project, and what moved."""

    address: str = ""
    range: str = ""
    machine: Machine
    counts: Counts
    documents: Documents
    drifts: tuple[Drift, ...]
    options: tuple[str, ...] = ()
    """Further options of ``faultwatch history``."""
    releases: tuple[str, ...] = ()


class Target(Struct, frozen=True):
    """Which history of a project is measured: what a file has before it is."""

    address: str = ""
    """Without one, ``release.sh`` beside the workload file fetches the package of each release."""
    range: str = ""
    options: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    """Instead of a range: tags, or versions of a package, each of which is one revision of the history."""

    @property
    def span(self) -> str:
        """Return the range of commits."""
        return span_of(self.releases) if self.releases else self.range


def folder_of(project: str) -> Path:
    """Return the folder of a project's workload file."""
    server = FOLDER / "servers" / project
    return server if server.exists() else FOLDER / project


def file_of(project: str) -> Path:
    """Return the file of a project."""
    return FOLDER / "drifts" / f"{project}.json"


def projects() -> list[str]:
    """Return the names of the projects."""
    return sorted(file.stem for file in (FOLDER / "drifts").glob("*.json"))


def measured() -> list[str]:
    """Return the names of the projects of which drifts are stored; of the others only what is to be measured."""
    return [name for name in projects() if "drifts" in msgspec.json.decode(file_of(name).read_bytes())]


def load_target(project: str) -> Target:
    """Read which history a project's file asks for, also before anything was measured."""
    return msgspec.json.decode(file_of(project).read_bytes(), type=Target)


def load(project: str) -> History:
    """Read what was stored of a project."""
    return msgspec.json.decode(file_of(project).read_bytes(), type=History)


def save(project: str, history: History) -> None:
    """Write what was found in the history of a project."""
    file_of(project).write_bytes(msgspec.json.format(msgspec.json.encode(history), indent=2) + b"\n")
