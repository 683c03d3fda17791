"""Formats numbers: re-exports the formatter of the contract, which the runner's terminal uses as well."""

from runner.contract.number_text import (
    Number,
    Scale,
    choose_scale,
    choose_unit,
    format_amount,
    format_difference,
    format_duration,
    format_levels,
    format_move,
    format_number,
    format_percent,
    format_quantity,
    format_range,
    format_share,
    format_sigmas,
    format_signed,
)

__all__ = [
    "Number",
    "Scale",
    "choose_scale",
    "choose_unit",
    "format_amount",
    "format_difference",
    "format_duration",
    "format_levels",
    "format_move",
    "format_number",
    "format_percent",
    "format_quantity",
    "format_range",
    "format_share",
    "format_sigmas",
    "format_signed",
]
