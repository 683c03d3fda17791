"""Prints the types in the debugging information of programs and libraries: a program of its own, to be confined.

The files are untrusted. So this program limits its own memory and time, and :mod:`runner.profile.type_layouts` starts
it in a sandbox. It prints a JSON array of types in the form of :class:`runner.contract.profile.TypeLayout`.

Usage: ``type_layout_reader.py TREE FILE...``
"""

import json
import os
import re
import resource
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

_MAX_MEMORY_BYTES, _MAX_CPU_SECONDS = 2 << 30, 8
_MAX_READING_SECONDS = 4.0
"""The CPU time after which no further types are read: those of a very large program are not complete."""
_MAX_DEBUG_BYTES = 256 << 20
"""The largest size of a file's debugging information, uncompressed."""
_MAX_TYPES, _MAX_FIELDS, _MAX_NAME_CHARACTERS = 2000, 100, 200
"""The largest numbers of types and of the fields of each, as ``runner.contract.profile`` limits them, and of the
characters of a name."""
_MAX_DEPTH = 20
"""How deep types may be nested, or refer to one another."""
_TYPES = frozenset({"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"})
_SCOPES = frozenset({"DW_TAG_namespace", "DW_TAG_module"})
_ALIASES = frozenset({"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type"})
_POINTERS = frozenset({"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"})
_LIBRARY_SCOPES = frozenset({"std", "core", "alloc", "__gnu_cxx", "hashbrown"})
"""The namespaces of the standard libraries of C++ and Rust. A change of a program does not change their types."""
_GO, _UNIT_OF_GO_TYPES = 0x16, "runtime"
"""The number of the language, and the package in whose unit Go's linker puts the types of all packages."""
_NAME = re.compile(r"[A-Za-z_][^{\[]*")
"""The name of a type that somebody wrote: closures and Go's slices and maps have others."""

Layout = dict[str, Any]


class UnitReader:
    """Reads the types of one compilation unit.

    Parameters
    ----------
    tree
        The folder of the program's sources, with a slash at its end. Types of other files are left out; those whose
        file is unknown, as in Go and Rust, are read.

    Attributes
    ----------
    name
        The source file; of Go, the package.
    """

    def __init__(self, unit: CompileUnit, tree: str) -> None:
        self._unit = unit
        self._tree = tree
        self._top = unit.get_top_DIE()
        self.name = _read_text(self._top, "DW_AT_name")
        self.is_go = _read_number(self._top, "DW_AT_language") == _GO
        self._folder = _read_text(self._top, "DW_AT_comp_dir")
        self._files: list[str] | None = None
        self._bytes_by_offset: dict[int, int | None] = {}

    def is_foreign(self) -> bool:
        """Return whether the unit was compiled in another folder, as a dependency is.

        Units of Go name no folder, but the files of the package.
        """
        if self._folder.startswith("/"):
            return not f"{self._folder}/".startswith(self._tree)
        paths = [path for path in self._list_unit_files() if path.startswith("/")]
        return bool(paths) and not any(path.startswith(self._tree) for path in paths)

    def iterate_types(self) -> Iterator[Layout]:
        """Yield the named types that have a size."""
        yield from self._iterate_types(self._top, (), 0)

    def _iterate_types(self, scope: DIE, prefix: tuple[str, ...], depth: int) -> Iterator[Layout]:
        """Yield the layouts of the types in a scope: a file, a namespace or a type.

        Parameters
        ----------
        prefix
            The names of the scopes around the types.
        depth
            How many scopes lie around this one.
        """
        for entry in scope.iter_children():
            name = _read_text(entry, "DW_AT_name")
            if entry.tag in _SCOPES and name not in _LIBRARY_SCOPES and depth < _MAX_DEPTH:
                yield from self._iterate_types(entry, (*prefix, name), depth + 1)
            elif entry.tag in _TYPES:
                if name:
                    yield from self._read_layout(entry, entry, (*prefix, name))
                if depth < _MAX_DEPTH:
                    yield from self._iterate_types(entry, (*prefix, name), depth + 1)
            elif entry.tag == "DW_TAG_typedef":
                # C often names a structure only by a typedef.
                target, _ = _find_target(entry)
                if target is not None and target.tag in _TYPES and not _read_text(target, "DW_AT_name"):
                    yield from self._read_layout(target, entry, (*prefix, name))

    def _read_layout(self, entry: DIE, naming_entry: DIE, names: tuple[str, ...]) -> Iterator[Layout]:
        """Yield the layout of a type, unless it is only declared, or belongs to a library.

        ``naming_entry`` is the type itself, or the typedef that names it.
        """
        n_bytes = _read_number(entry, "DW_AT_byte_size")
        file = self._find_file(naming_entry)
        name = "::".join(filter(None, names))[:_MAX_NAME_CHARACTERS]
        if not n_bytes or file is None or not _NAME.fullmatch(name):
            return
        fields = list(islice(self._iterate_fields(entry, "", 0), _MAX_FIELDS + 1))
        if len(fields) <= _MAX_FIELDS:
            line = _read_number(naming_entry, "DW_AT_decl_line") or 0
            yield {"name": name, "bytes": n_bytes, "file": file, "line": line, "fields": fields}

    def _iterate_fields(self, entry: DIE, prefix: str, depth: int) -> Iterator[Layout]:
        """Yield the fields of a type, with those of its nested types that have no name.

        ``prefix`` precedes their names; it ends with a dot.
        """
        for member in entry.iter_children():
            if member.tag not in {"DW_TAG_member", "DW_TAG_inheritance"} or "DW_AT_external" in member.attributes:
                continue
            target, type_name = _find_target(member)
            name = _read_text(member, "DW_AT_name") or type_name
            if target is not None and target.tag in _TYPES and not type_name and depth < _MAX_DEPTH:
                yield from self._iterate_fields(target, f"{prefix}{name}." if name else prefix, depth + 1)
            else:
                yield {
                    "name": f"{prefix}{name}"[:_MAX_NAME_CHARACTERS],
                    "type": _find_structure_name(target, type_name)[:_MAX_NAME_CHARACTERS],
                    "bytes": self._measure(target, 0) or 0,
                    "line": _read_number(member, "DW_AT_decl_line") or 0,
                }

    def _measure(self, entry: DIE | None, depth: int) -> int | None:
        """Return the size of a type in bytes; None if it is unknown."""
        if entry is None or depth > _MAX_DEPTH:
            return None
        if entry.offset not in self._bytes_by_offset:
            n_bytes = _read_number(entry, "DW_AT_byte_size")
            if n_bytes is None and entry.tag in _POINTERS:
                n_bytes = int(self._unit["address_size"])
            elif n_bytes is None and entry.tag == "DW_TAG_array_type":
                element_bytes = self._measure(_find_target(entry)[0], depth + 1)
                n_bytes = None if element_bytes is None else element_bytes * _count_elements(entry)
            elif n_bytes is None:
                n_bytes = self._measure(_find_target(entry)[0], depth + 1)
            self._bytes_by_offset[entry.offset] = n_bytes
        return self._bytes_by_offset[entry.offset]

    def _find_file(self, entry: DIE) -> str | None:
        """Return the file that declares a type, relative to the tree; empty if unknown, None if it is another's."""
        index = _read_number(entry, "DW_AT_decl_file")
        if not index:
            return ""
        files = self._list_unit_files()
        path = files[index] if index < len(files) else ""
        path = os.path.normpath(Path(self._folder, path)) if path else ""
        if not path.startswith("/"):
            return path
        return path.removeprefix(self._tree) if path.startswith(self._tree) else None

    def _list_unit_files(self) -> list[str]:
        """Return the files of the unit, by their indices in attributes; before DWARF 5, the first is number 1."""
        if self._files is None:
            program = self._unit.dwarfinfo.line_program_for_CU(self._unit)
            self._files = [] if program is None else _list_files(program)
        return self._files


def read_layouts(path: Path, tree: str) -> Iterator[Layout]:
    """Yield the types of one file; none if it has no debugging information, or too much."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        debug_sections = [section for section in elf.iter_sections() if section.name.startswith((".debug", ".zdebug"))]
        # The size of a section in the older form of compression is unknown before it is uncompressed.
        is_old_form = any(section.name.startswith(".zdebug") for section in debug_sections)
        if is_old_form or sum(section.data_size for section in debug_sections) > _MAX_DEBUG_BYTES:
            return
        if not elf.has_dwarf_info(strict=True):
            return
        units = elf.get_dwarf_info(relocate_dwarf_sections=False).iter_CUs()
        readers = [UnitReader(unit, tree) for unit in units]
        own_packages = {reader.name for reader in readers if reader.is_go and not reader.is_foreign()}
        for reader in readers:
            if reader.is_go and reader.name == _UNIT_OF_GO_TYPES:
                for layout in reader.iterate_types():
                    package = layout["name"].rpartition(".")[0]
                    if package in own_packages:
                        yield layout
            elif not (reader.is_go or reader.is_foreign()):
                yield from reader.iterate_types()


def select_unambiguous_layouts(layouts: Iterator[Layout]) -> list[Layout]:
    """Return each type once, without those whose name means types of several sizes.

    If there are too many types, or they take too long to read, the first are returned.
    """
    layouts_by_name: dict[str, Layout] = {}
    ambiguous: set[str] = set()
    for layout in layouts:
        if len(layouts_by_name) >= _MAX_TYPES or time.process_time() > _MAX_READING_SECONDS:
            break
        known = layouts_by_name.setdefault(layout["name"], layout)
        if known["bytes"] != layout["bytes"]:
            ambiguous.add(layout["name"])
    return [layout for name, layout in layouts_by_name.items() if name not in ambiguous]


def _list_files(program: LineProgram) -> list[str]:
    is_old = program["version"] < 5
    folders = [_decode(folder) for folder in program["include_directory"]]
    folders = ["", *folders] if is_old else folders
    files = [
        str(Path(folders[file.dir_index] if file.dir_index < len(folders) else "", _decode(file.name)))
        for file in program["file_entry"]
    ]
    return ["", *files] if is_old else files


def _find_target(entry: DIE) -> tuple[DIE | None, str]:
    """Return the type to which an entry refers, without qualifiers, and its name, which can be that of a typedef."""
    alias = ""
    for _ in range(_MAX_DEPTH):
        if "DW_AT_type" not in entry.attributes:
            break
        entry = entry.get_DIE_from_attribute("DW_AT_type")
        if entry.tag not in _ALIASES:
            return entry, _read_text(entry, "DW_AT_name") or alias
        alias = _read_text(entry, "DW_AT_name") or alias
    return None, ""


def _find_structure_name(entry: DIE | None, name: str) -> str:
    """Return the name of the structure that a type is, or of which it is an array; empty for any other type."""
    for _ in range(_MAX_DEPTH):
        if entry is None or entry.tag != "DW_TAG_array_type":
            break
        entry, name = _find_target(entry)
    return name if entry is not None and entry.tag in _TYPES else ""


def _count_elements(array: DIE) -> int:
    """Return the number of elements of an array; 0 if one of its dimensions is unknown."""
    n_elements = 1
    for dimension in array.iter_children():
        if dimension.tag == "DW_TAG_subrange_type":
            count, last = _read_number(dimension, "DW_AT_count"), _read_number(dimension, "DW_AT_upper_bound")
            first = _read_number(dimension, "DW_AT_lower_bound") or 0
            n_elements *= count if count is not None else 0 if last is None else last - first + 1
    return n_elements


def _read_number(entry: DIE, name: str) -> int | None:
    """Return an attribute that is a number; None if it is missing, or computed at run time."""
    attribute = entry.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else None


def _read_text(entry: DIE, name: str) -> str:
    attribute = entry.attributes.get(name)
    return _decode(attribute.value) if attribute is not None else ""


def _decode(text: object) -> str:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return "".join(filter(str.isprintable, text)) if isinstance(text, str) else ""


def main() -> None:
    """Print the types of files."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS))
    tree, *files = sys.argv[1:]
    layouts = (layout for file in files for layout in read_layouts(Path(file), tree))
    json.dump(select_unambiguous_layouts(layouts), sys.stdout)


if __name__ == "__main__":
    main()
