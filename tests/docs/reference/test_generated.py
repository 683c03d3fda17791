"""The generated reference has every command, option, key and endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import pytest

from docs.site.reference.commands import build_command_sections
from docs.site.reference.endpoints import build_endpoint_sections, build_page_table, get_application
from docs.site.reference.keys import build_matrix_tables, build_notification_tables, build_workload_tables
from docs.site.reference.markdown import format_code, format_plain, format_table
from runner.cli.entry_point import cli as runner
from runner.schemas import read_schema
from service.__main__ import cli as service
from service.config.notifications import NotificationSettings


def every(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from every(found, f"{name} {inner}")


def test_every_command_and_option_is_there_with_its_meaning() -> None:
    sections = {part.partition("`")[0]: part for part in build_command_sections().split("## `")[1:]}
    for root, group in (("faultwatch", runner), ("faultwatch-service", service)):
        for name, command in every(group, root):
            section = sections[name]
            for option in command.params:
                # --quiet is added to a command when it is loaded by its name; `job list` and `jobs` are one object.
                if isinstance(option, click.Option) and not option.hidden and option.name != "quiet":
                    assert max(option.opts, key=len) in section, (name, option.opts)
                    row = next(
                        line for line in section.splitlines() if max(option.opts, key=len) in line and "|" in line
                    )
                    assert row.rstrip(" |").rpartition("|")[2].strip(), (name, option.opts)


@pytest.mark.parametrize(("name", "page"), [("workload", build_workload_tables), ("matrix", build_matrix_tables)])
def test_every_key_is_there_with_its_meaning(name: str, page: Any) -> None:
    check_keys(json.loads(read_schema(name)), page())


def test_every_key_of_a_notification_channel_is_there_with_its_meaning() -> None:
    check_keys(NotificationSettings.model_json_schema(), build_notification_tables())


def check_keys(schema: dict[str, Any], page: str) -> None:
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    tables = [schema, *(inner for inner in schema["$defs"].values() if "properties" in inner)]
    headings = [line for line in page.splitlines() if line.startswith("### ")]
    for table_schema in tables:
        for key in table_schema["properties"]:
            heads = any(f"[{key}" in heading or f".{key}" in heading for heading in headings)
            assert heads or (key in rows and not rows[key].endswith("|  |")), key


def test_every_route_is_there() -> None:
    written = build_endpoint_sections()
    for path, operations in get_application().spec["paths"].items():
        for method in operations:
            assert f"| `{method.upper()} {path}` |" in written
    others = [
        method
        for rule in get_application().url_map.iter_rules()
        if not rule.rule.startswith("/api/") and not rule.rule.endswith((".json", ".csv"))
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    rows = [line for line in build_page_table().splitlines() if line.startswith("| `")]
    assert len(rows) == len(others)
    change = "Pause, resume or cancel a job, by the buttons on its page."
    assert f"| `POST /jobs/{{job_id}}/{{action}}` | {change} | order |" in rows


def test_markup_in_texts_of_the_code_is_harmless() -> None:
    assert format_plain("a <b> *c* ``d|e`` `f`") == r"a \<b\> \*c\* `d|e` `f`"
    assert format_code("a`b") == "`` a`b ``"
    assert format_table(("x",), [("a|b",)]) == "| x |\n| --- |\n| a\\|b |\n"
