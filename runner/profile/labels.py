"""Cuts the texts of a profile to the length that the contract allows."""

_MAX_CHARACTERS = 4000
"""The longest label of a profile, as ``runner.contract.profile`` limits names of functions, modules and files."""


def cut_label(text: str) -> str:
    """Return the name of a function, module or file, cut to the length that the contract allows."""
    return text[:_MAX_CHARACTERS]
