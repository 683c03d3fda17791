"""Writes the files for share/ in a wheel: the man pages, and what completes the commands in shells.

``python setup/shared_files.py FOLDER VERSION DATE``
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

_ROOT = Path(__file__).resolve().parents[1]
_COMPLETIONS = {
    "bash": "bash-completion/completions/{}",
    "zsh": "zsh/site-functions/_{}",
    "fish": "fish/vendor_completions.d/{}.fish",
}
"""Where each shell looks, by its name."""


def write_shared_files(folder: Path, version: str, date: str) -> None:
    """Write all files below a folder that stands for share/ and that has no manual pages yet.

    Parameters
    ----------
    version
        The version of Faultwatch that the man pages name.
    date
        The date of the man pages: YYYY-MM-DD.
    """
    from runner.cli.completion import render_completion_script  # noqa: PLC0415 - not on the path before

    pages = folder / "man" / "man1"
    pages.mkdir(parents=True)
    for name, group in load_programs().items():
        write_man_pages(name, group, version=version, target_dir=str(pages), date=date)
        for shell, place in _COMPLETIONS.items():
            file = folder / place.format(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(render_completion_script(name, shell), encoding="utf-8")


def load_programs() -> dict[str, click.Group]:
    """Return both programs by name, with all of their commands."""
    from runner.cli.entry_point import cli as runner  # noqa: PLC0415 - not on the path before
    from service.__main__ import cli as service  # noqa: PLC0415 - not on the path before

    return {"faultwatch": _load_commands(runner), "faultwatch-service": _load_commands(service)}


def _load_commands(group: click.Group) -> click.Group:
    """Return a group with every command imported: click-man reads the dictionary of commands."""
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return click.Group(
        group.name,
        {name: command for name, command in found.items() if command},
        help=group.help,
        params=group.params,
        context_settings=group.context_settings,
    )


if __name__ == "__main__":
    sys.path.insert(0, str(_ROOT))
    target, shown_version, shown_date = sys.argv[1:]
    write_shared_files(Path(target), shown_version, shown_date)
