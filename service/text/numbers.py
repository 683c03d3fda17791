"""Writes numbers: the formatter of the contract, which the runner's terminal uses, too."""

from runner.contract.number_text import (
    Number,
    Scale,
    amount,
    difference,
    duration,
    format_signed,
    levels,
    number,
    percent,
    quantity,
    scale_of,
    sigmas,
    span,
    unit_of,
)

__all__ = [
    "Number",
    "Scale",
    "amount",
    "difference",
    "duration",
    "format_signed",
    "levels",
    "number",
    "percent",
    "quantity",
    "scale_of",
    "sigmas",
    "span",
    "unit_of",
]
