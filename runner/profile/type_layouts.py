"""Reads the types of a program from its debugging information, in a confined process."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import elftools
from msgspec import Struct, field
from pydantic import TypeAdapter, ValidationError

from runner.contract.profile import TypeLayout
from runner.execution.confined_readers import build_reader_prefix
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.sandbox import Sandbox
from runner.profile import type_layout_reader
from runner.profile.elf import read_sections
from runner.system.regular_file import identify_file

_TIMEOUT_SECONDS = 20.0
"""The time limit of the reader, which limits its CPU time itself, in seconds."""
_LAYOUTS = TypeAdapter(tuple[TypeLayout, ...])
_Layouts = tuple[TypeLayout, ...]


class TypeLayoutCache(Struct):
    """Reads the types of programs, and remembers them: several cases execute the same files."""

    _layouts_by_files: dict[tuple[tuple[int, ...], ...], _Layouts] = field(default_factory=dict)

    def read(self, files: Sequence[Path], tree: Path, sandbox: Sandbox | None) -> _Layouts:
        """Return the types of files that were built from the sources in a tree; empty if the reader fails.

        Parameters
        ----------
        sandbox
            The sandbox in which the program runs; None if it runs without one.
        """
        described_files = [file for file in files if (sections := read_sections(file)) and sections.has_lines]
        try:
            key = tuple(identify_file(file.stat()) for file in described_files)
        except OSError:
            key = ()  # A file vanished: the program removed it.
        if not key:
            return ()
        if key not in self._layouts_by_files:
            self._layouts_by_files[key] = _read_layouts(described_files, tree, sandbox)
        return self._layouts_by_files[key]


def _read_layouts(files: Sequence[Path], tree: Path, sandbox: Sandbox | None) -> _Layouts:
    reader = Path(type_layout_reader.__file__).absolute()
    # The reader needs Python itself, and the library, besides the files.
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(elftools.__file__).parents[1], reader.parent]
    prefix = build_reader_prefix(sandbox, *dict.fromkeys((*folders, *(file.parent for file in files), tree)))
    # ``-I`` ignores the variables of the user, and modules in the current folder.
    command = [*prefix, sys.executable, "-I", str(reader), f"{tree.absolute()}/", *map(str, files)]
    try:
        result = subprocess.run(
            command, capture_output=True, check=True, timeout=_TIMEOUT_SECONDS, env=dict(BASE_VARIABLES)
        )
        return _LAYOUTS.validate_json(result.stdout)
    except (OSError, subprocess.SubprocessError, ValidationError):
        return ()
