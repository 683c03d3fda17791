"""Builds a project in the ways that its files suggest, tries its programs, and lets the user choose one."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.cli.activity import activity
from runner.cli.questions import Questions
from runner.cli.terminal import say
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.adoption.first_measurement import FirstMeasurement, Tried
    from runner.adoption.proposal import BuildProposal

_DRIVER = (
    "for a library, write a small driver into a separate folder, with a workload.toml{} that builds both; "
    "`faultwatch init FOLDER` then measures it and writes the CI file"
)
_ONE_TARGET = (
    "build only a part, such as --build \"sh -c 'cmake -B build && cmake --build build --target PROGRAM'\", and pass "
    "its program with --run"
)
_ONLY_USAGE = ", but it only prints its usage"
_NO_PROGRAM = "the build produces no executable program"


class Choice(Struct, frozen=True):
    """What is proposed.

    Attributes
    ----------
    proposal, tried
        How to build, and what to measure, with its count.
    failures
        Commands that were tried and failed.
    """

    proposal: "BuildProposal"
    tried: "Tried"
    failures: tuple["Tried", ...] = ()


def choose(
    first: "FirstMeasurement",
    questions: Questions,
    *,
    build: str | None = None,
    run: str | None = None,
    missing: tuple[str, ...] = (),
) -> Choice:
    """Return how to build, and what to measure.

    If no program of a build works, the next build may install what the programs need, and another build system may make
    other programs. If they only say what they are, another build may make benchmarks.

    Parameters
    ----------
    build, run
        What the user has named.
    missing
        Submodules that the clone lacks.

    Raises
    ------
    FaultwatchError
        Nothing can be built, or nothing that was built can be measured.
    """
    from runner.adoption.first_measurement import list_steadying_variables

    proposals = _proposals(first, build, run, missing)
    failures: list[Tried] = []
    chosen: tuple[BuildProposal, Path, list[Tried]] | None = None
    while proposals:
        try:
            proposal, tree = _build_project(first, questions, proposals, build, run, missing)
        except FaultwatchError:
            if chosen or failures:
                break
            raise
        tried = _try_commands(first, proposal, tree, run)
        failures += [one for one in tried if not one.faults]
        starts = any(one.faults for one in tried)
        chosen = (proposal, tree, tried) if starts and chosen is None else chosen
        if any(one.worked for one in tried) or (starts and run):
            chosen = (proposal, tree, tried)
            break
        proposals = [other for other in proposals if _may_do_more(other, proposal, starts=starts)]
    if chosen is None:
        raise _explain_failure(failures, run)
    proposal, tree, tried = chosen
    favourite = _ask_person(questions, tried, run)
    steady = first.steadied(proposal, favourite, tree)
    if steady is not favourite:
        variables = " ".join(f"{name}={value}" for name, value in steady.run.environment.items())
        repeats = "repeats" if len(set(steady.faults)) == 1 else "varies less"
        say(f"  with {variables}: {_range(steady.faults)} minor faults: the count {repeats}")
    elif len(set(favourite.faults)) > 1:
        names = dict.fromkeys(
            f"{name}={value}" for one in list_steadying_variables(proposal.tools) for name, value in one.items()
        )
        say(f"  with {' '.join(names)}: the count still varies")
    return Choice(proposal, steady, tuple(failures))


def _may_do_more(other: "BuildProposal", built: "BuildProposal", *, starts: bool) -> bool:
    """Return whether another build may make a program that does some work, where that of one build does none.

    Parameters
    ----------
    starts
        The programs start, but only say what they are, or how they are used. Otherwise they fail.
    """
    if starts and other.runs:
        return other.runs != built.runs and not other.runs[0].idle
    # Another variant that makes the same programs would only take time. Another build system may make others.
    return bool(other.runs) or other.system != built.system or other.tests


def _proposals(
    first: "FirstMeasurement", build: str | None, run: str | None, missing: tuple[str, ...]
) -> list["BuildProposal"]:
    """Return the ways to build the project, the most likely first."""
    from runner.adoption.detection import KNOWN, detect
    from runner.adoption.proposal import BuildProposal
    from runner.adoption.tools_found import with_tools
    from runner.adoption.version_from_git import version_from_git
    from runner.subject.packages import GO, GO_OBJECTS, managers_of

    proposals = detect(first.sources)
    if build is not None:
        used = managers_of([build])
        # Whichever way it builds, it runs what reads the version from the history.
        read = version_from_git(first.sources, *(proposal.system for proposal in proposals))
        proposals = [
            BuildProposal(
                "your command",
                build,
                tuple(word for manager in used for word in manager.programs[:1] if word != "pip"),
                {manager.variable: manager.folder for manager in used}
                | (GO_OBJECTS if GO in used else {})
                | dict(read.variables),
                least=next((proposal.least for proposal in proposals if proposal.least), {}),
                git=read.git,
            )
        ]
    if not proposals and run is not None:
        proposals = [BuildProposal("no build system that init knows", "")]
    if not proposals:
        raise FaultwatchError(
            f"{first.repository.path} has no build system that init knows ({KNOWN})",
            "pass the commands with --build and --run",
        )
    return [replace(with_tools(proposal), incomplete=bool(missing)) for proposal in proposals]


def _build_project(
    first: "FirstMeasurement",
    questions: Questions,
    proposals: list["BuildProposal"],
    build: str | None,
    run: str | None,
    missing: tuple[str, ...],
) -> tuple["BuildProposal", Path]:
    """Build the project in the first way that works; the ways that were tried are removed."""
    from runner.adoption.first_measurement import describe
    from runner.adoption.tools_found import describe_tools
    from runner.contract.report import Stage
    from runner.subject.build import BuildFailure

    said, named, slow = "", "", False
    reasons: set[str] = set()
    while proposals:
        number = 0
        if build is None:
            say(f"{proposals[0].system}: {proposals[0].command or 'nothing to build'}")
            labels = [proposal.command or f"nothing ({proposal.system})" for proposal in proposals]
            number = questions.choose("How is it built?", labels)
        proposal = proposals.pop(number)
        tool, lacks = describe_tools(proposal)
        if tool and tool != named:
            say(f"uses {tool}")
            named = tool
        try:
            with activity(f"building {first.revision.commit[:10]}"):
                tree, seconds = first.build(proposal)
        except (BuildFailure, FaultwatchError) as failure:
            if isinstance(failure, BuildFailure) and failure.stage is Stage.CHECKOUT:
                raise FaultwatchError(
                    f"{first.revision.commit[:10]} cannot be checked out: {failure.message}"
                ) from None
            said = f"{lacks}; " * bool(lacks) + describe(failure)
            if isinstance(failure, BuildFailure) and failure.timed_out:
                slow = True
                # What builds the tests as well takes even longer.
                proposals[:] = [other for other in proposals if not other.tests]
            reason = said.partition("\n")[2] or said
            known = reason in reasons
            reasons.add(reason)
            say("this does not build either, for the same reason" if known else f"this does not build: {said}")
            continue
        if build is not None or run is not None or first.runs(proposal, tree):
            say(f"built in {seconds.seconds:.1f} s" + (", from the cache" if seconds.cached else ""))
            return proposal, tree
        say(_NO_PROGRAM)
        reasons.add(_NO_PROGRAM)
    raise FaultwatchError(
        # That a library has no program says more than why its benchmarks do not build.
        f"{first.repository.name} was not built: {_NO_PROGRAM if _NO_PROGRAM in reasons else said.splitlines()[0]}",
        _ONE_TARGET if slow and build is None else _remedy(build, missing),
    )


def _remedy(build: str | None, missing: tuple[str, ...]) -> str:
    """Return what to do about a project of which nothing can be built that runs."""
    fetch = f"fetch the submodules ({', '.join(missing)}), or " if missing else ""
    if build is not None:
        return f"{fetch}correct --build {shlex.quote(build)}"
    driver = _DRIVER.format(" (`incomplete = true` in [build])" if missing else "")
    return f"{fetch}pass the commands with --build and --run; or, {driver}"


def _try_commands(first: "FirstMeasurement", proposal: "BuildProposal", tree: Path, run: str | None) -> list["Tried"]:
    """Try the commands that can be measured."""
    from runner.adoption.proposal import RunProposal

    runs = [RunProposal(run)] if run else first.runs(proposal, tree)
    tried: list[Tried] = []
    with activity("trying what was built") as show:
        for one in first.try_runs(proposal, runs, tree, show):
            counted = f"{_range(one.faults)} minor faults{_ONLY_USAGE if one.usage else ''}" if one.faults else ""
            say(f"  {one.run.command}: {counted or one.problem}")
            tried.append(one)
    return tried


def _explain_failure(failures: "list[Tried]", run: str | None) -> FaultwatchError:
    from runner.adoption.printed_text import find_missing_module

    first = failures[0]
    tip = f"pass one with --run, such as --run './program --input FILE'; or, {_DRIVER.format('')}"
    module, _ = find_missing_module(first.problem)
    if module:
        tip = (
            f"let the build install {module}, such as --build \"sh -c 'python3 -m venv venv && venv/bin/pip install "
            f"{module}'\" --run '{first.run.command.replace('python3 ', 'venv/bin/python ', 1)}'"
        )
    if run:
        tip = tip if module else "correct --run, or let --build create the files that it needs"
        return FaultwatchError(f"{run!r} could not be measured: {first.problem}", tip)
    return FaultwatchError(f"no program could be measured; the first: {first.run.command}: {first.problem}", tip)


def _ask_person(questions: Questions, tried: "list[Tried]", run: str | None) -> "Tried":
    from runner.adoption.first_measurement import choose_best

    chosen = choose_best(tried)
    assert chosen
    working = [chosen, *(one for one in tried if one.faults and one is not chosen)]
    if run is None:
        number = questions.choose("What is measured?", [one.run.command for one in working])
        chosen = working[number]
    return chosen


def _range(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
