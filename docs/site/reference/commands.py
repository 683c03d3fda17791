"""Both commands with every subcommand and option, from click."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from docs.site.reference.markdown import format_code, format_plain, format_table
from runner.cli.entry_point import cli as runner
from service.__main__ import cli as service


def build_command_sections() -> str:
    """Return a section for each command."""
    both = (("faultwatch", runner), ("faultwatch-service", service))
    return "\n".join(section for name, group in both for section in _list_sections(group, name, None))


def _list_sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, parent, info_name=name.rpartition(" ")[2], max_content_width=1000)
    yield f"## {format_code(name)}\n\n{_format_body(command, context)}"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from _list_sections(found, f"{name} {inner}", context)


def _format_body(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    rows = [record for param in command.get_params(context) if (record := _format_parameter(param, context))]
    parts = [f"```text\n{usage}\n```\n", *_list_paragraphs(command.help or "")]
    if rows:
        parts.append(format_table(("option", "meaning"), rows))
    return "\n".join(parts)


def _format_parameter(param: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    if isinstance(param, click.Option) and param.hidden:
        return None
    record = param.get_help_record(context)
    if record is None:
        return None
    return format_code(record[0]), format_plain(re.sub(r"  \[([^\]]+)\]$", r" (\1)", record[1]))


def _list_paragraphs(text: str) -> Iterator[str]:
    """Return each paragraph of a help text; what click must not wrap is shown as it is."""
    for paragraph in re.split(r"\n\s*\n", text.partition("\f")[0].strip()):
        if paragraph.lstrip().startswith("\b"):
            yield "```text\n" + "\n".join(line.strip() for line in paragraph.splitlines()[1:]) + "\n```\n"
        else:
            yield format_plain(paragraph) + "\n"
