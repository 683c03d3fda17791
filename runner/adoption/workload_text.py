"""Writes the workload file of a proposal."""

import json
from collections.abc import Mapping

from runner.adoption.proposal import BuildProposal, LoadProposal, RunProposal
from runner.workload.placeholders import escape_braces

SCHEMA_PATH = ".faultwatch/workload.schema.json"
"""Where the schema for editors is, relative to the workload file."""
_MAX_CAVEAT_CHARACTERS = 300
"""The longest caveat that a workload file may contain."""
_CAVEAT_COMMENT = "# Each gate shows this caveat. Delete it once `command` in [run] does the work that users wait for."


def render_workload(
    name: str,
    build: BuildProposal,
    run: RunProposal,
    *,
    timeout: int | None = None,
    schema: str = SCHEMA_PATH,
    caveat: str = "",
) -> str:
    """Return the text of a workload file.

    Parameters
    ----------
    timeout
        Time limit of an execution, in seconds; None for the default.
    schema
        The path of the schema, relative to the file; empty for none.
    caveat
        What the counts do not show; empty if no shortcoming is known.
    """
    lines = [f"#:schema {schema}", ""] if schema else []
    lines += ["[workload]", f"name = {_format_string(name)}"]
    if caveat:
        lines += [_CAVEAT_COMMENT, f"caveat = {_format_string(caveat[:_MAX_CAVEAT_CHARACTERS])}"]
    if timeout:
        lines.append(f"timeout = {timeout}")
    build_lines = _format_build(build)
    if build_lines:
        lines += ["", "[build]", *build_lines]
    if build.command:
        lines += _format_table("build.environment", build.environment)
    if run.load:
        lines += format_server(run, run.load)
    lines += ["", "[run]"]
    if run.load is None:
        lines.append(f"command = {_format_string(escape_braces(run.command))}")
        if run.output != "none":
            lines.append(f"output = {_format_string(run.output)}")
    lines.append('huge_pages = "never"')
    lines += _format_table("run.environment", run.environment)
    return "\n".join(lines) + "\n"


def _format_build(build: BuildProposal) -> list[str]:
    """Return the lines of the table ``[build]``; none if the defaults suffice."""
    lines = []
    if build.command:
        lines.append(f"command = {_format_string(build.command)}")
        if build.tools:
            lines.append(f"needs = {_format_list(build.tools)}")
        if build.git:
            lines.append("git = true")
    if build.incomplete:  # The commit is also checked out if there is nothing to build.
        lines.append("incomplete = true")
    return lines


def format_server(run: RunProposal, load: LoadProposal) -> list[str]:
    """Return the lines of a server's tables, with an empty line before each table."""
    keys = {"command": run.command, "ready_command": run.ready_command, "stop_signal": run.stop_signal}
    load_keys = {"fill": load.fill, "command": load.command, "output": load.output, "pattern": load.pattern}
    lines = []
    for table, texts in (("server", keys), ("load", load_keys)):
        lines += ["", f"[{table}]"]
        # Leave out the defaults: an empty text, and "none" for the output.
        lines += [f"{key} = {_format_string(text)}" for key, text in texts.items() if text not in {"", "none"}]
    if load.operations:
        lines.append(f"operations = {load.operations}")
    return lines


def _format_string(text: str) -> str:
    """Return a text as a TOML string: a literal string if it contains double quotes and nothing to escape otherwise."""
    can_be_literal = text.isprintable() and "'" not in text and '"' in text
    # A JSON string is also a basic string of TOML, except that JSON does not escape DEL (0x7f).
    return f"'{text}'" if can_be_literal else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_list(words: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_format_string, words))}]"


def _format_table(name: str, variables: Mapping[str, str]) -> list[str]:
    """Return an empty line and the lines of a table of variables; nothing if there are no variables."""
    if not variables:
        return []
    return ["", f"[{name}]", *(f"{key} = {_format_string(value)}" for key, value in variables.items())]
