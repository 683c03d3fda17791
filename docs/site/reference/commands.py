"""Both commands with every subcommand and option, from click."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from docs.site.reference.markdown import code, plain, table
from runner.cli.entry_point import cli as runner
from service.__main__ import cli as service


def commands() -> str:
    """Return a section for each command."""
    both = (("faultwatch", runner), ("faultwatch-service", service))
    return "\n".join(section for name, group in both for section in _sections(group, name, None))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, parent, info_name=name.rpartition(" ")[2], max_content_width=1000)
    yield f"## {code(name)}\n\n{_body(command, context)}"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from _sections(found, f"{name} {inner}", context)


def _body(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    rows = [record for param in command.get_params(context) if (record := _record(param, context))]
    parts = [f"```text\n{usage}\n```\n", *_paragraphs(command.help or "")]
    if rows:
        parts.append(table(("option", "meaning"), rows))
    return "\n".join(parts)


def _record(param: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    if isinstance(param, click.Option) and param.hidden:
        return None
    record = param.get_help_record(context)
    if record is None:
        return None
    return code(record[0]), plain(re.sub(r"  \[([^\]]+)\]$", r" (\1)", record[1]))


def _paragraphs(text: str) -> Iterator[str]:
    """Return each paragraph of a help text; what click must not wrap is shown as it is."""
    for paragraph in re.split(r"\n\s*\n", text.partition("\f")[0].strip()):
        if paragraph.lstrip().startswith("\b"):
            yield "```text\n" + "\n".join(line.strip() for line in paragraph.splitlines()[1:]) + "\n```\n"
        else:
            yield plain(paragraph) + "\n"
