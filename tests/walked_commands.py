"""Walks the commands of a program by its parser, and fills in what each needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click


@dataclass(frozen=True)
class Walked:
    """A command without subcommands.

    Attributes
    ----------
    words
        The words that lead to it.
    parameters
        Its arguments and its options with a value.
    """

    words: tuple[str, ...]
    parameters: tuple[click.Parameter, ...]

    @property
    def name(self) -> str:
        """Its last word."""
        return self.words[-1]

    def __str__(self) -> str:
        return " ".join(self.words)

    def fill(self, folder: Path, given: Mapping[click.Parameter, str] | None = None) -> list[str]:
        """Return words for what is given and for everything else that is required."""
        words: list[str] = []
        for parameter in self.parameters:
            value = (given or {}).get(parameter)
            if value is None and not parameter.required:
                continue
            value = _make_right_value(parameter, folder) if value is None else value
            words += [parameter.opts[0], value] if isinstance(parameter, click.Option) else [value]
        if any(isinstance(parameter, click.Argument) for parameter in given or {}):
            return ["--", *words] if not any(isinstance(one, click.Option) for one in self._used(given)) else words
        return words

    def choose(self, **values: str) -> list[str]:
        """Return words for these options, where the command has them."""
        names = {parameter.name: parameter.opts[0] for parameter in self.parameters}
        return [word for name, value in values.items() if name in names for word in (names[name], value)]

    def _used(self, given: Mapping[click.Parameter, str] | None) -> Iterator[click.Parameter]:
        return (one for one in self.parameters if one.required or one in (given or {}))


def list_commands(group: click.Group) -> list[Walked]:
    """Return every command of a program that does something itself."""
    return list(_walk(group, click.Context(group), ()))


def _walk(command: click.Command, context: click.Context, words: tuple[str, ...]) -> Iterator[Walked]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _walk(found, click.Context(found, parent=context, info_name=name), (*words, name))
        return
    with_values = (one for one in command.params if not (isinstance(one, click.Option) and one.is_flag))
    yield Walked(words, tuple(with_values))


def list_wrong_values(parameter: click.Parameter, folder: Path) -> list[str]:
    """Return values that a parameter does not accept; of a text, those that are odd."""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return ["", "nonsense"]
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return ["", "nonsense", "nan", "inf", "-1", "1e999", "9" * 400, "0x1"]
    if isinstance(kind, click.Path):
        (folder / "file").touch()
        return [str(folder), str(folder / "missing" / "file"), str(folder / "file" / "below"), "/proc/faultwatch"]
    return ["", "x" * 5000, "../..", "\x1b[31m", "~no.such.user/x", "\udcff"]


def _make_right_value(parameter: click.Parameter, folder: Path) -> str:
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return str(kind.choices[0])
    if isinstance(kind, click.IntRange | click.FloatRange):
        return str(kind.min or 1)
    if isinstance(kind, click.Path):
        return str(folder / "target")
    return "name"
