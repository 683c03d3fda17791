"""Make."""

import re
from pathlib import PurePosixPath

from msgspec import Struct, field

from runner.adoption.proposal import JOBS_OPTION, BuildProposal, build_shell_command
from runner.adoption.sources import Sources

_NAMES = ("GNUmakefile", "makefile", "Makefile")
_MAX_FOLDERS = 3
_HELPER_FOLDER = re.compile(r"misc|tools?|scripts?|doc|man|po|ci|packag(?:e|ing)|\..*", re.IGNORECASE)
"""Folders whose makefiles build no program of the project."""
_OTHER_SYSTEM = re.compile(r"bsd|mac|darwin|osx|ios|win|mingw|msvc|vc\d|android|wasm|emscripten", re.IGNORECASE)
_RULE = re.compile(r"([\w./ -]+):(?![:=])(.*)")
_VARIABLE = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?+]?=[ \t]*(.*)$", re.MULTILINE)
_VARIABLE_REFERENCE = re.compile(r"\$[({](\w+)[)}]")
_USUAL_TARGETS = ("all", "benchmark", "benchmarks", "bench", "examples", "test", "tests")
_OUTSIDE_COMMAND = re.compile(
    r"(?<![\w./-])(?:docker(?:-compose)?|podman|nerdctl|buildah|sudo|doas|vagrant)(?![\w./-])"
)
"""Programs that do something to the host, or on another one, and build nothing in the tree."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose the target of the project's name, the default target, then usual ones, except those that leave the tree.

    Without a makefile at the top, those of several folders are proposed: one may be for another system.
    """
    return [proposal for file in _list_makefiles(sources) for proposal in _propose_targets(sources, file)]


def _list_makefiles(sources: Sources) -> list[str]:
    """Return the makefiles that are nearest to the top, one of each folder; a few if they are in folders."""
    nearest = sources.list_nearest(*_NAMES)
    by_folder: dict[str, str] = {}
    for file in nearest:
        by_folder.setdefault(str(PurePosixPath(file).parent), file)
    folders = [folder for folder in by_folder if not _HELPER_FOLDER.fullmatch(PurePosixPath(folder).name)]
    # Those of this system, or of all systems, first.
    folders.sort(key=lambda folder: bool(_OTHER_SYSTEM.search(folder)))
    return [by_folder[folder] for folder in folders[:_MAX_FOLDERS]]


def _propose_targets(sources: Sources, file: str) -> list[BuildProposal]:
    """Return the builds of a makefile's targets: that of the project's name first, which makes least."""
    folder = PurePosixPath(file).parent
    folder_option = "" if str(folder) == "." else f" -C {folder}"
    rules, leaving = _parse_rules(sources.read_text(file)), find_leaving_targets(sources.read_text(file))
    default = next((name for name in rules if not name.startswith(".")), "")
    usual = [name for name in _USUAL_TARGETS if name in rules and name not in leaving]
    project_targets = [
        name for name in rules if name.lower() == sources.name.lower() and name != default and name not in leaving
    ]
    targets = [
        *(f" {name}" for name in project_targets[:1]),
        *([""] if default not in leaving else []),
        *(f" {name}" for name in usual),
    ]
    return [
        BuildProposal(
            "Make",
            build_shell_command(f"make{folder_option} {JOBS_OPTION}{target}"),
            ("make",),
            # The target of the project's name builds that one program.
            builds_tests=bool(project_targets) and target != f" {project_targets[0]}",
            depth=file.count("/"),
        )
        for target in targets
    ]


def find_leaving_targets(text: str) -> set[str]:
    """Return the targets that start a container or change the user, directly or through a prerequisite."""
    rules = _parse_rules(text)
    leaving = {name for name, rule in rules.items() if _OUTSIDE_COMMAND.search(rule.recipe)}
    while newly_leaving := {
        name for name, rule in rules.items() if name not in leaving and not leaving.isdisjoint(rule.prerequisites)
    }:
        leaving |= newly_leaving
    return leaving


class _Rule(Struct, dict=True):
    """The prerequisites and the recipe of a target, with variables expanded."""

    prerequisites: set[str] = field(default_factory=set)
    recipe: str = ""


def _parse_rules(text: str) -> dict[str, _Rule]:
    """Return the rules of a file by target, in its order."""
    variables = dict(_VARIABLE.findall(text))
    rules: dict[str, _Rule] = {}
    current: list[_Rule] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for rule in current:
                rule.recipe += f"{_expand_variables(line, variables)}\n"
        elif match := _RULE.fullmatch(line):
            prerequisites, _, recipe = match[2].partition(";")
            current = [rules.setdefault(name, _Rule()) for name in match[1].split()]
            for rule in current:
                rule.prerequisites.update(_expand_variables(prerequisites, variables).split())
                rule.recipe += f"{_expand_variables(recipe, variables)}\n"
    return rules


def _expand_variables(text: str, variables: dict[str, str]) -> str:
    """Return a line with its variables expanded, some levels deep."""
    for _ in range(3):
        text = _VARIABLE_REFERENCE.sub(lambda match: variables.get(match[1], "")[:1000], text)[:10_000]
    return text
