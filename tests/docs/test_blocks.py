"""Every code block is right: commands exist with their options, files have valid keys. Slow ones: test_shell_blocks."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import pytest
import yaml

from runner.cli.entry_point import cli as runner
from runner.schemas import read_schema
from service.__main__ import cli as service
from service.config.notifications import NotificationSettings
from tests.docs.blocks import BLOCKS, ROOT, Block, blocks_of
from tests.setup.test_docs import targets

LANGUAGES = {"json", "python", "sh", "sql", "text", "toml", "yaml"}
LEAST: dict[str, dict[str, Any]] = {
    "workload": {"workload": {"name": "w"}, "run": {"command": "./w"}},
    "matrix": {"workloads": [{"path": "w"}]},
}
"""What a part of a file lacks to be a whole one."""
LEAST_SERVER = {
    "workload": {"workload": {"name": "w"}, "server": {"command": "./w"}, "load": {"command": "./l"}},
}


def of(language: str) -> list[Block]:
    found = [block for block in BLOCKS if block.language == language]
    assert found
    return found


def test_every_block_is_fenced_and_names_a_known_language() -> None:
    assert [f"{block}: {block.language!r}" for block in BLOCKS if block.language not in LANGUAGES] == []


def test_text_is_never_run_and_says_what_it_is() -> None:
    assert [str(block) for block in of("text") if not block.reason] == []


def test_a_reason_names_only_tests_that_exist() -> None:
    for block in BLOCKS:
        for name in re.findall(r"tests/[\w/.]*\w", block.reason or ""):
            assert (ROOT / name).exists(), block
        for name in re.findall(r"make (test-[a-z0-9]+)", block.reason or ""):
            assert name in targets(), block


def test_a_marker_belongs_to_the_block_below_it_alone() -> None:
    first, second, third = blocks_of("<!-- not run: why -->\n```sh\na\n```\n\n```sh\nb\n```\n\n    c\n")
    assert (first.reason, first.language, first.line) == ("why", "sh", 2)
    assert (second.reason, second.text) == (None, "b\n")
    assert third.language == ""


def check_toml(document: dict[str, Any]) -> None:
    """Check a settings file, or a part of one, by the keys that it has.

    Raises
    ------
    ValueError
        If a key or a value is wrong, or if no settings file has such keys.
    """
    if "channel" in document:
        NotificationSettings.model_validate(document)
        return
    is_server = "server" in document or "load" in document
    for name, least in (LEAST | LEAST_SERVER if is_server else LEAST).items():
        schema = json.loads(read_schema(name))
        if set(document) <= set(schema["properties"]):
            whole = {
                key: {**least.get(key, {}), **value} if key in document and isinstance(value, dict) else value
                for key, value in {**least, **document}.items()
            }
            jsonschema_rs.validator_for(schema).validate(whole)
            return
    raise ValueError(f"no settings file has the keys {sorted(document)}")


@pytest.mark.parametrize("block", of("toml"), ids=str)
def test_settings_files_are_valid(block: Block) -> None:
    check_toml(tomllib.loads(block.text))


@pytest.mark.parametrize("text", ["[build]\ncomand = 'make'", "[biuld]\ncommand = 'make'", "[[channel]]\nname = 'a'"])
def test_settings_files_with_mistakes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        check_toml(tomllib.loads(text))


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_json_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_yaml_can_be_read(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.text), dict | list)  # a list is a part of a job


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_python_runs(block: Block) -> None:
    exec(compile(ast.parse(block.text), str(block), "exec"), {})


def check_command(words: list[str]) -> None:
    """Check the subcommands and options of one of the project's commands, without running it.

    Raises
    ------
    click.ClickException
        If a subcommand or an option does not exist, or a required option is missing.
    """
    command: click.Command = runner if words[0] == "faultwatch" else service
    context, rest = click.Context(command, info_name=words[0]), words[1:]
    while isinstance(command, click.Group) and rest:
        _, inner, rest = command.resolve_command(click.Context(command), rest)
        assert inner is not None
        command, context = inner, click.Context(inner, context)
    given, _, _ = command.make_parser(context).parse_args(rest)
    for option in command.params:
        if isinstance(option, click.Option) and option.required and option.name not in given:
            raise click.MissingParameter(ctx=context, param=option)


def commands_in(script: str) -> list[list[str]]:
    """Return the calls of the project's commands in a shell script, without redirections and comments."""
    found = []
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue  # a text that goes on in the next line is no command of ours
        while words:
            end = next((at for at, word in enumerate(words) if set(word) <= set("|&;<>")), len(words))
            call, words = words[:end], words[end + 1 :]
            names = [at for at, word in enumerate(call) if Path(word).name in {"faultwatch", "faultwatch-service"}]
            if names and (names[0] == 0 or call[0] in {"ssh", "uvx"}):
                found.append([Path(call[names[0]]).name, *call[names[0] + 1 :]])
    return found


@pytest.mark.parametrize("block", of("sh"), ids=str)
def test_shell_blocks_are_shell_and_name_existing_commands(block: Block) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    for words in commands_in(block.text):
        check_command(words)
    used = set(re.findall(r"^make (?:--\S+ )*([a-z][a-z0-9-]*)", block.text, re.MULTILINE))
    assert used <= targets() | {"sums"}, block


@pytest.mark.parametrize(
    "line",
    [
        "faultwatch measre x",
        "faultwatch history --repository .",
        "faultwatch-service token new x",
        "faultwatch-service tokn",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    (words,) = commands_in(f"cd /tmp && {line} > file  # comment\n")
    with pytest.raises(click.ClickException):
        check_command(words)
