"""Cuts the texts of a profile to the length that the contract allows."""

from collections.abc import Sequence

from runner.system.valid_text import make_valid_text

_MAX_CHARACTERS = 4000
"""The longest label of a profile, as ``runner.contract.profile`` limits names of functions, modules and files."""
_MAX_REMARKS, _MAX_REMARK_CHARACTERS = 100, 1000
"""The limits of a profile's remarks in the same module."""


def cut_label(text: str) -> str:
    """Return the name of a function, module or file, cut to the length that the contract allows."""
    return text[:_MAX_CHARACTERS]


def cut_remarks(remarks: Sequence[str]) -> tuple[str, ...]:
    """Return remarks as valid text, cut to the number and the length that the contract allows."""
    # A remark may quote the name of a file, which may not be text.
    return tuple(make_valid_text(remark)[:_MAX_REMARK_CHARACTERS] for remark in remarks[:_MAX_REMARKS])
