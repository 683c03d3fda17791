"""Finds how the tests of a Node.js package are run by Node itself, without npm, whose faults would be counted too."""

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import dropwhile
from pathlib import PurePosixPath

from runner.adoption.proposal import RunProposal

STEADY_FLAGS = "--single-threaded --predictable"
"""The options with which Node compiles and collects garbage in the main thread, and draws the same random numbers each
time: without them, the count of a program can vary by 86 %. Node refuses these options in ``NODE_OPTIONS``."""
_TEST_SCRIPT = "test"
_ONE_PROCESS = {"mocha": "", "_mocha": "", "tape": "", "jasmine": "", "uvu": "", "qunit": "", "jest": " --runInBand"}
"""Programs that run tests, and the option with which they run all tests in one process; others start a process or a
thread for each file."""
_STARTERS = {"nyc", "c8", "istanbul", "cross-env", "cross-env-shell", "env", "dotenv", "npx", "yarn", "pnpm"}
"""Programs that start the one that runs the tests: they measure coverage, set variables or find it."""
_INSTALLATIONS = {"add", "install", "i"}
_OPTIONS_WITH_VALUE = {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
_OTHER_MODES = {"--test", "-e", "--eval", "-p", "--print", "-c", "--check", "-v", "--version"}
"""Options with which Node executes no script in its own process."""
_OTHER_SCRIPT = re.compile(r"(?:npm|yarn|pnpm)(?: run| run-script)?(?: -s| --silent)? ([\w:.-]+)")
_ASSIGNMENT = re.compile(r"\w+=")
_TEST_NAME = re.compile(r"test|spec", re.IGNORECASE)
_PLAIN_ARGUMENT = re.compile(r"[\w./=@:*{},+-]+")
_GLOB = re.compile(r"[*{}]")
_MAX_DEPTH = 3
"""How many scripts that start each other are followed."""


def find_test_run(scripts: Mapping[str, str]) -> RunProposal | None:
    """Return the command that runs a package's tests; None if its scripts name no known way to run them.

    Parameters
    ----------
    scripts
        The scripts of ``package.json``.
    """
    runs = map(_propose_test_run, _list_steps(scripts, _TEST_SCRIPT, _MAX_DEPTH, set()))
    return min(filter(None, runs), key=_rank_test_run, default=None)


def _list_steps(
    scripts: Mapping[str, str], name: str, depth: int, listed_scripts: set[tuple[str, int]]
) -> Iterator[list[str]]:
    """Yield the commands of a script as words; those of another script in place of the command that starts it.

    Parameters
    ----------
    depth
        How many further scripts that start each other are followed.
    listed_scripts
        The scripts that were listed at each depth, which are not listed again.
    """
    if (name, depth) in listed_scripts:
        return
    listed_scripts.add((name, depth))
    for step in re.split(r"&&|;|\|\|", scripts.get(name, "")):
        other_script = _OTHER_SCRIPT.fullmatch(step.strip())
        if other_script and depth:
            yield from _list_steps(scripts, other_script[1], depth - 1, listed_scripts)
            continue
        try:
            yield shlex.split(step)
        except ValueError:  # a quotation mark is not closed
            continue


def _propose_test_run(words: list[str]) -> RunProposal | None:
    """Return the proposal for a command of a test script, to be executed by Node directly.

    The command is ``node`` with a script, which is assumed to run tests, or a program of :data:`_ONE_PROCESS`; None for
    any other command.
    """
    words = list(dropwhile(_ASSIGNMENT.match, words))
    first_program = PurePosixPath(words[0]).name if words else ""
    if first_program == "node":
        return _propose_script(words[1:])
    names = [PurePosixPath(word).name for word in words]
    index = next((index for index, name in enumerate(names) if name in _ONE_PROCESS), None)
    if index is None or (index and (first_program not in _STARTERS or not _INSTALLATIONS.isdisjoint(words[:index]))):
        return None
    name, arguments = names[index], [word for word in words[index + 1 :] if word != "--"]
    if not all(map(_PLAIN_ARGUMENT.fullmatch, arguments)):
        return None
    program = f"node_modules/.bin/{name}"
    return _make_test_run([f"{program}{_ONE_PROCESS[name]}", *arguments], program=program)


def _propose_script(words: list[str]) -> RunProposal | None:
    """Return the proposal for the words after ``node``; None if Node would execute no script in its own process."""
    if not all(map(_PLAIN_ARGUMENT.fullmatch, words)):
        return None
    index = 0
    while index < len(words) and words[index].startswith("-"):
        if words[index] in _OTHER_MODES:
            return None
        index += 2 if words[index] in _OPTIONS_WITH_VALUE else 1
    if index >= len(words):
        return None
    options, script, arguments = words[:index], words[index], words[index + 1 :]
    one_process_option = _ONE_PROCESS.get(PurePosixPath(script).stem, "").split()
    return _make_test_run([*options, script, *one_process_option, *arguments], program=script)


def _rank_test_run(run: RunProposal) -> int:
    """Return a sort key: programs that run tests first, then scripts named after tests: others may only build."""
    if PurePosixPath(run.program).stem in _ONE_PROCESS:
        return 0
    return 1 if _TEST_NAME.search(run.program) else 2


def _make_test_run(words: list[str], *, program: str) -> RunProposal:
    """Return the command that starts Node with the given words, of which patterns of files are quoted."""
    quoted_words = [f'"{word}"' if _GLOB.search(word) else word for word in words]
    return RunProposal(
        " ".join(["node", STEADY_FLAGS, *quoted_words]), may_do_nothing=True, is_test=True, program=program
    )
