"""Finds how the tests of a Node.js package are run by Node itself, without npm, whose faults would be counted too."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from runner.adoption.proposal import RunProposal

ONE_THREAD = "--single-threaded"
"""The option with which Node compiles and collects garbage in the main thread: without it, the count of a program can
vary by 86 %. Node refuses this option in ``NODE_OPTIONS``."""
_TEST_SCRIPT = "test"
_ONE_PROCESS = {"mocha": "", "_mocha": "", "tape": "", "jasmine": "", "uvu": "", "qunit": "", "jest": " --runInBand"}
"""Programs that run tests, and the option with which they run all tests in one process; others start a process or a
thread for each file."""
_OTHER_SCRIPT = re.compile(r"(?:npm|yarn|pnpm)(?: run| run-script)?(?: -s| --silent)? ([\w:.-]+)")
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
    runs = map(_convert_step, _list_steps(scripts, _TEST_SCRIPT, _MAX_DEPTH, set()))
    return next(filter(None, runs), None)


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


def _convert_step(words: list[str]) -> RunProposal | None:
    """Return a command that Node executes directly; None if the words run no tests in a known way."""
    if words[:1] == ["node"] and len(words) > 1 and all(map(_PLAIN_ARGUMENT.fullmatch, words)):
        return _make_test_run(words[1:], program=words[1])
    # Programs that measure coverage, or set variables, come before the one that runs the tests.
    names = [PurePosixPath(word).name for word in words]
    index = next((index for index, name in enumerate(names) if name in _ONE_PROCESS), None)
    if index is None:
        return None
    name, arguments = names[index], [word for word in words[index + 1 :] if word != "--"]
    if not all(map(_PLAIN_ARGUMENT.fullmatch, arguments)):
        return None
    program = f"node_modules/.bin/{name}"
    return _make_test_run([f"{program}{_ONE_PROCESS[name]}", *arguments], program=program)


def _make_test_run(words: list[str], *, program: str) -> RunProposal:
    """Return the command that starts Node with the given words, of which patterns of files are quoted."""
    quoted_words = [f'"{word}"' if _GLOB.search(word) else word for word in words]
    return RunProposal(
        " ".join(["node", ONE_THREAD, *quoted_words]), may_do_nothing=True, is_test=True, program=program
    )
