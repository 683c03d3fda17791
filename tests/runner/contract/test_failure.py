"""A failure is explained by the line in which the program says why it failed."""

import pytest

from runner.contract.report import Failure, Stage

BANNER = "Program: x (aligns)\nVersion: 0.7\nContact: x@y.org\n\nUsage:   x <command> [options]\n\nCommand: index\n"


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (BANNER, "Usage:   x <command> [options]"),
        ("x: missing operand\nUsage: x FILE\n  -h  help\n", "x: missing operand"),
        ("Usage: x FILE\n  -h  help\n", "Usage: x FILE"),
        ("reading\nx: no such file\n", "x: no such file"),
    ],
)
def test_the_reason_is_neither_the_banner_nor_the_last_line_of_the_usage(log: str, reason: str) -> None:
    failure = Failure(stage=Stage.RUN, message="`x` ended with exit code 1", log=log)
    assert failure.explained == f"`x` ended with exit code 1: {reason}"


@pytest.mark.parametrize("line", ["reached 7 rps", "cannot read 'rates'", f"{'x' * 300} rps"])
def test_the_reason_is_not_repeated_if_the_message_quotes_it(line: str) -> None:
    message = f"[load] command does not report the work done; the last line of its output is {line[:120]!r}"
    assert Failure(stage=Stage.RUN, message=message, log=f"{line}\n").explained == message
