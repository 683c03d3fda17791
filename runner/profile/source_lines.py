"""Finds source lines with addr2line: all offsets of a binary at once."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from runner.execution.process_variables import BASE_VARIABLES
from runner.profile.elf import LOAD_SEGMENT_KIND, Segment, read_sections, read_segments
from runner.system.regular_file import identify_file

_TIMEOUT_SECONDS = 20.0
"""The time limit of addr2line for all offsets of a file, in seconds."""
_TOOLS = ("addr2line", "llvm-addr2line")
"""The tools to try in turn. LLVM's is tried if GNU's finds no lines although the file has some: GNU's version 2.40
cannot read those of Go 1.26."""

_MIN_OFFSETS_WITHOUT_LINES = 8
"""If a stripped file has no line at this many offsets, it has none elsewhere either. A few may lie in assembly code."""
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
"""The number of a line. It is limited, because it comes from the debugging information of an untrusted program."""


class SourceLine(Struct, frozen=True):
    """A function at a line of its source."""

    function: str
    file: str
    line: int


class SourceLineCache(Struct):
    """Finds source lines, and remembers them: several recordings contain the same offsets of the same files.

    A stripped file, such as the C library, may have lines in a separate file. If there are none at several offsets,
    there is no such file, and addr2line is not asked again, because it takes a tenth of a second for nothing.
    """

    _lines_by_file: dict[tuple[int, ...], dict[int, tuple[SourceLine, ...]]] = field(default_factory=dict)
    _files_without_lines: set[tuple[int, ...]] = field(default_factory=set)

    def find(
        self, module: str, offsets: Iterable[int], sandbox_prefix: Sequence[str] = ()
    ) -> dict[int, tuple[SourceLine, ...]]:
        """Return what :func:`find_source_lines` returns for a file that this process and the sandbox both see."""
        try:
            identity = identify_file(Path(module).stat())
        except OSError:
            return find_source_lines(module, offsets, sandbox_prefix)
        if identity in self._files_without_lines:
            return {}
        offsets = set(offsets)
        known_lines = self._lines_by_file.setdefault(identity, {})
        if new_offsets := offsets - known_lines.keys():
            found_lines = find_source_lines(module, new_offsets, sandbox_prefix)
            known_lines.update({offset: found_lines.get(offset, ()) for offset in new_offsets})
            if len(known_lines) >= _MIN_OFFSETS_WITHOUT_LINES and not any(known_lines.values()):
                sections = read_sections(Path(module))
                if sections is not None and not sections.has_lines:
                    self._files_without_lines.add(identity)
        return {offset: lines for offset in offsets if (lines := known_lines[offset])}


def find_source_lines(
    module: str, offsets: Iterable[int], sandbox_prefix: Sequence[str] = (), file: Path | None = None
) -> dict[int, tuple[SourceLine, ...]]:
    """Return the source lines at offsets of a file, innermost inlined function first; unknown offsets are left out.

    Parameters
    ----------
    sandbox_prefix
        The words that confine the command, because the file is untrusted.
    file
        The path of the file for this process, if the sandbox shows it at another path.
    """
    file = file or Path(module)
    loaded_segments = [segment for segment in read_segments(file) if segment.kind == LOAD_SEGMENT_KIND]
    addresses = {offset: _compute_address(loaded_segments, offset) for offset in set(offsets)}
    address_by_offset = {offset: address for offset, address in addresses.items() if address is not None}
    lines_by_offset: dict[int, tuple[SourceLine, ...]] = {}
    for tool in _TOOLS:
        # Ask each tool only for offsets that the previous tools have not found.
        missing_offsets = address_by_offset.keys() - lines_by_offset.keys()
        if not missing_offsets:
            break
        lines_by_address = _run_addr2line(
            tool, module, [address_by_offset[offset] for offset in sorted(missing_offsets)], sandbox_prefix
        )
        for offset in missing_offsets:
            lines = lines_by_address.get(address_by_offset[offset])
            if lines:
                lines_by_offset[offset] = lines
        sections = read_sections(file)
        if sections is None or not sections.has_lines:
            break  # The file has no lines, so no other tool would find any.
    return lines_by_offset


def _run_addr2line(
    tool: str, module: str, addresses: Iterable[int], sandbox_prefix: Sequence[str]
) -> dict[int, tuple[SourceLine, ...]]:
    """Return the source lines that addr2line finds for addresses in a module; none if it fails or is too slow."""
    try:
        result = subprocess.run(
            [*sandbox_prefix, tool, "-a", "-f", "-i", "-C", "-e", module],
            input="".join(f"{address:#x}\n" for address in addresses).encode(),
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
            env=dict(BASE_VARIABLES),
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse_lines(result.stdout.decode(errors="replace"))


def parse_lines(text: str) -> dict[int, tuple[SourceLine, ...]]:
    """Parse the output of ``addr2line -a -f -i``: an address, then a function and a line for each inlined call."""
    lines_by_address: dict[int, list[SourceLine]] = {}
    address: int | None = None
    function: str | None = None
    for text_line in text.split("\n"):  # str.splitlines() would also split at characters within names.
        if function is None and text_line.startswith("0x"):
            address = int(text_line, 16) if _is_hex(text_line[2:]) else None
        elif function is None:
            function = text_line
        else:
            file, _, number_text = text_line.rpartition(":")
            number = number_text.split(" ")[0]
            if address is not None and _NUMBER.fullmatch(number) and file not in {"??", ""}:
                lines_by_address.setdefault(address, []).append(SourceLine(function, file, int(number)))
            function = None
    return {place_address: tuple(lines) for place_address, lines in lines_by_address.items()}


def _is_hex(text: str) -> bool:
    return bool(text) and all(digit in "0123456789abcdefABCDEF" for digit in text)


def _compute_address(segments: Iterable[Segment], offset: int) -> int | None:
    """Return the address at which a byte of a file is loaded; None if it is not loaded."""
    for segment in segments:
        if segment.offset <= offset < segment.offset + segment.size:
            return offset - segment.offset + segment.address
    return None
