"""One command line: what means the same has the same name, place, form and words in every command.

A new option that two commands share belongs into the table here, and into docs/reference/commands.md.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from runner.adoption.build_system_detection import KNOWN_BUILD_SYSTEMS
from runner.cli.entry_point import COMMANDS
from runner.cli.entry_point import cli as runner
from service.__main__ import cli as service

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")

MEASURING = {"measure", "compare", "history", "gate", "profile", "try", "bisect"}
"""Commands that measure a WORKLOAD which is named on the command line."""
AGAIN = {"measure", "compare", "history", "gate"}
"""Commands that keep a failure until they are told to try again. Searches and profiles keep none."""
RANGES = {"compare", "history", "gate", "profile", "bisect"}
RESULTS = MEASURING | {"demo", "init", "nightly", "job run"}
"""Commands that measure: their result is given as JSON and in a file, too."""

FORMS = {
    "--again": "",
    "--explain": "",
    "--case": "NAME",
    "--committed-only": "",
    "--days": "N",
    "--dry-run": "",
    "--env": "NAME=VALUE",
    "--format": None,
    "--fresh": "",
    "--host": None,
    "--json": "",
    "--limit": "N",
    "--output": "FILE",
    "--port": "PORT",
    "--quiet": "",
    "--reason": "TEXT",
    "--repo": "PATH|URL",
    "--revision": "REV",
    "--samples": "N",
    "--sandbox": "",
    "--set": "NAME=VALUE[,VALUE…]",
    "--subject": "NAME",
    "--to": "SITE",
    "--verbose": "",
    "--with-details": "",
    "--yes": "",
}
"""The form of the value of each option that several commands have; None where it depends on the command."""
OWN_WORDS = {
    ("attach", "--name"),  # of a program that runs
    ("import", "--repo"),  # gives the order of the revisions
    ("import", "--revision"),
    ("import", "--case"),
    ("import", "--host"),
    ("import", "--subject"),
    ("init", "--repo"),  # where the files are written
}
"""Options that describe what was measured elsewhere, or is not measured yet."""
DEFAULTS = re.compile(
    r"(Default: (?:if|only if|always|never|as many as|24 pairs)[^.]*\.|Without a RANGE: |With --settings or --change: )"
)


def walk(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        if isinstance(command, click.Group):
            yield from walk(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


RUNNER = dict(walk(runner))
SERVICE = {f"faultwatch-service {name}": command for name, command in walk(service)}
ALL = RUNNER | SERVICE


def options(command: click.Command) -> dict[str, click.Option]:
    return {max(one.opts, key=len): one for one in command.params if isinstance(one, click.Option)}


def form(option: click.Option) -> str:
    if option.is_flag:
        return ""
    return option.metavar or ("|".join(map(str, option.type.choices)) if isinstance(option.type, click.Choice) else "?")


def arguments(command: click.Command) -> list[str]:
    context = click.Context(command)
    return [one.make_metavar(context).strip("[].") for one in command.params if isinstance(one, click.Argument)]


def test_an_option_that_two_commands_have_is_in_the_table() -> None:
    users = defaultdict(set)
    for name, command in ALL.items():
        if name != "jobs":  # the same as `job list`
            for option in options(command):
                if (name, option) not in OWN_WORDS:
                    users[option].add(name)
    shared = {option for option, names in users.items() if len(names) > 1}
    assert shared <= set(FORMS), "describe it in FORMS, and in docs/reference/commands.md"


@pytest.mark.parametrize("name", sorted(ALL))
def test_an_option_has_the_same_form_in_every_command(name: str) -> None:
    for option, found in options(ALL[name]).items():
        assert form(found) != "?", f"{option} has no form of its value"
        expected = FORMS.get(option)
        if expected is not None and (name, option) not in OWN_WORDS:
            assert form(found) == expected, option


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_option_and_command_says_what_it_does(name: str) -> None:
    assert ALL[name].help
    for option, found in options(ALL[name]).items():
        assert found.help, option
        assert found.help.rstrip("]").endswith((".", "8080", "standard output")), f"{option}: {found.help}"


def test_an_option_has_the_same_words_in_every_command() -> None:
    words: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, command in RUNNER.items():
        for option, found in options(command).items():
            if option in FORMS and (name, option) not in OWN_WORDS:
                words[option][DEFAULTS.sub("", found.help or "")].add(name)
    different = {option: dict(texts) for option, texts in words.items() if len(texts) > 1}
    assert set(different) <= {"--revision"}, different


@pytest.mark.parametrize("name", sorted(ALL))
def test_help_and_quiet_are_everywhere(name: str) -> None:
    command = ALL[name]
    context = click.Context(command, parent=click.Context(service if name in SERVICE else runner, **inherited(name)))
    assert command.get_help_option_names(context) == ["-h", "--help"] or set(
        command.get_help_option_names(context)
    ) == {"-h", "--help"}
    assert "-q" in options(command)["--quiet"].opts
    if name in RUNNER:
        assert "-v" in options(command)["--verbose"].opts


def inherited(name: str) -> dict[str, list[str]]:
    settings = (service if name in SERVICE else runner).context_settings
    return {"help_option_names": list(settings["help_option_names"])}


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_what_measures_gives_its_result_as_json_and_in_a_file(name: str) -> None:
    assert {"--json", "--output"} <= set(options(RUNNER[name]))


@pytest.mark.parametrize("name", sorted(AGAIN))
def test_what_failed_before_can_be_tried_again(name: str) -> None:
    assert "--again" in options(RUNNER[name])


@pytest.mark.parametrize("name", sorted(MEASURING))
def test_what_measures_a_workload_chooses_it_in_the_same_way(name: str) -> None:
    command = RUNNER[name]
    assert {"--repo", "--set", "--case", "--env", "--sandbox"} <= set(options(command))
    assert arguments(command)[0] == "WORKLOAD"
    assert (arguments(command)[1:] == ["RANGE"]) is (name in RANGES)
    assert ("--revision" in options(command)) is (name not in {"compare", "gate"}), "a RANGE names both ends there"


def test_only_a_remedy_is_changed_with_with() -> None:
    assert {name for name, command in ALL.items() if "--with" in options(command)} == {"try"}


def test_the_reference_describes_every_shared_option() -> None:
    table = REFERENCE.partition("| option | meaning |")[2].partition("\n\n")[0]
    described = set(re.findall(r"--[a-z-]+", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    short = {"--quiet": "-q", "--verbose": "-v"}
    everywhere = set(FORMS) - {"--days", "--format", "--fresh", "--host", "--limit", "--port", "--subject"}
    assert everywhere <= described
    assert all(f"`{letter}`" in table for letter in short.values())


def test_the_reference_lists_every_command() -> None:
    for name in [*RUNNER, *SERVICE]:
        program = name if name in SERVICE else f"faultwatch {name}"
        assert f"| `{program}" in REFERENCE, program
    assert set(COMMANDS) == {name.partition(" ")[0] for name in RUNNER}


def test_the_help_names_what_init_detects_and_import_reads() -> None:
    names = KNOWN_BUILD_SYSTEMS.replace(" and ", ", ").split(", ")
    words = " ".join((ALL["init"].help or "").split())
    assert [name for name in names if name not in words] == []
    assert "load generators" in " ".join((ALL["import"].help or "").split())


@pytest.mark.parametrize("place", ["README.md", "docs", ".github", "templates", "runner/ci/templates"])
def test_nothing_that_is_shown_uses_an_old_spelling(place: str) -> None:
    files = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*.*"))
    found = []
    for file in files:
        if not file.is_file() or file.suffix in {".png", ".svg", ".pyc"} or file.name == "commands.md":
            continue
        for command in re.findall(r"faultwatch (?:\w+ )?[^\n`<\"]*", file.read_text(encoding="utf-8")):
            old = re.search(
                r"--(workload|range|report|before)\b", command.removeprefix("faultwatch attach --name server --before")
            )
            pair = re.search(r"^faultwatch (compare|gate) (?!-)[^.\s]+ [^.\s-]+$", command)
            if old or pair:
                found.append((str(file.relative_to(ROOT)), command))
    assert not found
