"""What several subcommands share: options, the workload, and the place where measurements are made."""

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.contract.metrics import CATALOGUE
from runner.contract.report import Case, Environment, Host
from runner.environment import capture, compilers
from runner.errors import FaultwatchError
from runner.execution.in_background import beside
from runner.execution.sandbox import sandbox
from runner.host.trust import Standing, standing
from runner.measuring.trial import Bench
from runner.settings import Settings
from runner.state.process import ProcessState
from runner.subject.build import Builder
from runner.subject.repository import Repository, open_repository
from runner.workload import Workload, cases, load_workload

if TYPE_CHECKING:
    from runner.doctor.counting import Scope

SHIPPED_WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"

USER_ONLY = (
    "faults that a program takes inside the kernel, as in read() into fresh memory, are not counted for this user: "
    "`faultwatch doctor` says what allows it"
)

workload_option = click.option(
    "--workload",
    "workload_name",
    metavar="PATH|NAME",
    help="Default: workload.toml in --repo, or in the current folder.",
)
repo_option = click.option(
    "--repo", metavar="PATH|URL", help="The repository under test. Default: the one that holds the workload."
)
set_option = click.option(
    "--set",
    "choices",
    multiple=True,
    metavar="NAME=VALUE[,VALUE…]",
    help="Only the points of the matrix with these values. Repeatable.",
)
env_option = click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add a variable to the environment of the measured process. Repeatable.",
)
samples_option = click.option(
    "--samples",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Executions to measure, instead of as many as prove the counts.",
)
sandbox_option = click.option(
    "--sandbox/--no-sandbox",
    "confined",
    default=None,
    help="Build and run in a sandbox, as code of strangers has to be. Default: where --repo is an address.",
)
report_option = click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all that was measured as JSON; a GitHub Actions step gets the path as an output.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply several click options at once, in the order in which --help lists them."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def find_workload(name: str) -> Workload:
    """Load a workload by the path of its file or folder, or by the name of one that comes along."""
    shipped = SHIPPED_WORKLOADS / name
    if not Path(name).exists() and "/" not in name:
        if (shipped / "workload.toml").exists():
            return load_workload(shipped)
        raise FaultwatchError(
            f"{name}: no such file or folder, and no workload of that name comes along",
            f"there are: {', '.join(shipped_names())}",
        )
    return load_workload(Path(name))


def workload_and_repository(
    settings: Settings, workload_name: str | None, repo: str | None
) -> tuple[Workload, Repository]:
    """Find both of what is compared: where only one of the two is named, the other one is looked for there."""
    if repo:
        repository = open_repository(repo, settings.clones)
        return find_workload(workload_name or str(repository.path)), repository
    workload = find_workload(workload_name or ".")
    return workload, repository_of(workload, None, settings)


def repository_of(workload: Workload, repo: str | None, settings: Settings) -> Repository:
    """Open the repository that is measured: the one that is named, or else the one that the workload lies in.

    Raises
    ------
    FaultwatchError
        Where there is none; also where none is named and the workload comes along, but not what it builds.
    """
    if not repo and workload.build.directory == "subject" and workload.path.is_relative_to(SHIPPED_WORKLOADS):
        raise FaultwatchError(
            f"{workload.name} builds another repository than the one it lies in", "name that one with --repo"
        )
    return open_repository(repo or str(workload.path.parent), settings.clones)


def check_metric(workload: Workload, name: str) -> None:
    """Refuse a metric that no run of a workload can report.

    Raises
    ------
    FaultwatchError
        Where there is none of that name, with the one that is spelt like it.
    """
    known = {*CATALOGUE, *workload.metrics.events}
    if name.removeprefix("region:") in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    raise FaultwatchError(
        f"{workload.name} has no metric {name!r}",
        f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known))}",
    )


def shipped_names() -> list[str]:
    """Return the names of the workloads that come along."""
    return sorted(file.parent.name for file in SHIPPED_WORKLOADS.glob("*/workload.toml"))


def one_case(workload: Workload, choices: tuple[str, ...], name: str | None) -> Case:
    """Return the one case of a workload that is meant.

    Raises
    ------
    FaultwatchError
        Where there is none, or more than one.
    """
    chosen = [case for case in cases(workload, choices) if name in {None, case.name}]
    if len(chosen) != 1:
        there = ", ".join(case.name for case in cases(workload, choices))
        what = f"there is no case {name!r}" if not chosen else "there are several cases, and one is searched at a time"
        raise FaultwatchError(what, f"name one with --case: {there}")
    return chosen[0]


def parse_variables(assignments: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VALUE`` arguments.

    Raises
    ------
    FaultwatchError
        Where one is not of that form.
    """
    variables = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
            raise FaultwatchError(f"--env {assignment!r} is not of the form NAME=VALUE")
        variables[name] = value
    return variables


@dataclass(frozen=True, slots=True)
class Workbench:
    """The bench and the builder of this host under some settings."""

    bench: Bench
    builder: Builder
    variables: dict[str, str] = field(default_factory=dict)


def wants_sandbox(confined: bool | None, repository: Repository, settings: Settings) -> bool:
    """Whether code is confined: as was said, or else where it was fetched from an address."""
    return repository.path.is_relative_to(settings.clones) if confined is None else confined


def workbench(
    settings: Settings, assignments: Iterable[str] = (), *, examined: bool = True, confined: bool = False
) -> Workbench:
    """Return where measurements are made on this host, after making sure that they can be.

    Parameters
    ----------
    examined
        Count the canary and read the declared knobs: before a session, but not only to look.
    confined
        Build and run in a sandbox.

    Raises
    ------
    FaultwatchError
        Where perf or the sandbox is missing or forbidden, in one line with what allows it.
    """
    from pydantic import TypeAdapter

    from runner.doctor import counting_scope

    def look() -> "Scope":
        found = counting_scope()
        compilers.knobs()
        TypeAdapter(int)  # The first model that is made waits for a large import: better here.
        return found

    variables = parse_variables(assignments)
    # Several short waits for other programs: none of them needs what another one finds out.
    looking = beside(look)
    try:
        known = standing(settings.programs) if examined else Standing()
    finally:
        scope = looking()  # Why nothing can be counted here comes before what followed from that.
    box = sandbox() if confined else None
    told = {"counting.scope": scope, "process.sandbox": "bubblewrap" if box else "none"}

    def environment(state: ProcessState) -> Environment:
        found = capture(variables=state.environment, work_directory=settings.builds)
        return Environment(knobs={**found.knobs, **state.knobs(), **told})

    state = ProcessState(variables=variables, cpus=settings.cpus)
    held = environment(state)
    tools = {
        name: value for name, value in held.knobs.items() if name.startswith("compiler.") or name == "libc.version"
    }
    if scope == "user":
        known = replace(known, remarks=(*known.remarks, USER_ONLY))
    if examined:
        for line in (*known.warnings(held), *state.remarks()):
            terminal().print(line, style="yellow", markup=False, highlight=False)
    bench = Bench(Host(name=settings.host), environment, variables, known, settings.cpus, box)
    return Workbench(bench, Builder(settings.builds, tools, box), variables)


@lru_cache
def terminal() -> Any:
    """Return the rich console for messages and progress: standard error, so that standard output stays clean."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def activity(text: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done for a while; yields what changes the text. Elsewhere it says nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.markup import escape

    with terminal().status(escape(text)) as status:
        yield lambda text: status.update(escape(text))


def refuse_dirty(repository: Repository, *, allow: bool) -> None:
    """Refuse to measure the tip of a work tree that has changes which no commit holds.

    Raises
    ------
    FaultwatchError
        Where it has, unless that is allowed.
    """
    if not allow and repository.is_dirty():
        raise FaultwatchError(
            f"{repository.path} has changes that are not committed, and only commits are measured",
            "commit or stash them, or pass --committed-only to leave them out",
        )
