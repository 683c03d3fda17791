"""Autoconf and Automake, and hand-written ``configure`` scripts."""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import JOBS_OPTION, BuildProposal, build_shell_command
from runner.adoption.sources import Sources, is_third_party

_CONFIGURES = ("configure", "auto/configure", "config/configure", "build/configure")
"""Paths of committed configure scripts, all of which are run at the top; a hand-written one may be in a folder."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to configure and make; then also to build the test programs. An uncommitted ``configure`` is generated.

    Programs are linked statically with the project's libraries: otherwise, Libtool replaces each program with a shell
    script that starts the real one, and the varying faults of the shell would be counted too.
    """
    recipe = next((name for name in ("configure.ac", "configure.in") if sources.has(name)), None)
    script = next((name for name in _CONFIGURES if sources.has(name)), "")
    if recipe is None and not script:
        return []
    recipe_text = sources.read_text(recipe) if recipe else ""
    uses_libtool = bool(re.search(r"\bLT_INIT|\bAC_PROG_LIBTOOL|\bAM_PROG_LIBTOOL", recipe_text))
    configure = f"sh {script}" if "/" in script else "./configure"
    steps = [f"{configure} --disable-shared" if uses_libtool else configure, f"make {JOBS_OPTION}"]
    tools = ["make"]
    if not script:
        generator = next((name for name in ("autogen.sh", "bootstrap", "bootstrap.sh") if sources.has(name)), None)
        # Some of these scripts are only for developers, and make nothing without an option.
        generate = f"NOCONFIGURE=1 sh ./{generator} && {{ test -e configure || autoreconf -fi; }}"
        steps.insert(0, generate if generator else "autoreconf -fi")
        tools.append("autoreconf")
        if uses_libtool:
            tools.append("libtoolize")
    builds = [BuildProposal("Autotools", build_shell_command(*steps), tuple(tools))]
    if _has_test_programs(sources):
        test_step = f"make {JOBS_OPTION} check TESTS="  # builds the tests, and executes none
        command = build_shell_command(*steps, test_step)
        builds.append(BuildProposal("Autotools", command, tuple(tools), builds_tests=True))
    return builds


def _has_test_programs(sources: Sources) -> bool:
    """Return whether Automake builds some programs only for tests; a library often has no others."""
    recipes = (file for file in sources.files if PurePosixPath(file).name == "Makefile.am" and not is_third_party(file))
    return any("check_PROGRAMS" in sources.read_text(file) for file in recipes)
