"""Writes the workload file of a proposal."""

import json

from runner.adoption.proposal import BuildProposal, RunProposal

SCHEMA = ".faultwatch/workload.schema.json"
"""Where the schema for editors is, relative to the workload file."""


def workload_text(
    name: str, build: BuildProposal, run: RunProposal, *, timeout: int | None = None, schema: str = SCHEMA
) -> str:
    """Return the text of a workload file.

    Parameters
    ----------
    timeout
        Time limit of an execution in seconds, if the default is too short.
    schema
        The path of the schema, relative to the file; empty for none.
    """
    lines = [f"#:schema {schema}", ""] if schema else []
    lines += ["[workload]", f"name = {_format_text(name)}"]
    if timeout:
        lines.append(f"timeout = {timeout}")
    if build.command:
        lines += ["", "[build]", f"command = {_format_text(build.command)}"]
        if build.tools:
            lines.append(f"needs = {_list(build.tools)}")
        if build.git:
            lines.append("git = true")
        if build.incomplete:
            lines.append("incomplete = true")
        lines += _table("build.environment", build.environment)
    lines += ["", "[run]", f"command = {_format_text(_escape(run.command))}"]
    if run.output != "none":
        lines.append(f"output = {_format_text(run.output)}")
    lines.append('huge_pages = "never"')
    lines += _table("run.environment", run.environment)
    return "\n".join(lines) + "\n"


def _escape(command: str) -> str:
    return command.replace("{", "{{").replace("}", "}}")


def _format_text(text: str) -> str:
    """Return a text as TOML: literally if possible, which is easier to read."""
    plain = text.isprintable() and "'" not in text and '"' in text
    # A JSON string is a basic string of TOML too, except for one character.
    return f"'{text}'" if plain else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(words: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_format_text, words))}]"


def _table(name: str, variables: object) -> list[str]:
    if not isinstance(variables, dict) or not variables:
        return []
    return ["", f"[{name}]", *(f"{key} = {_format_text(value)}" for key, value in variables.items())]
