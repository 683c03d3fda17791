"""Which functions have no names, and what would give them names."""

import os

import pytest
from msgspec.structs import replace

from runner.attach import missing_debug_packages
from runner.attach.live_program import LiveProgram
from runner.attach.missing_debug_packages import describe_missing_names, find_debug_package
from runner.attach.process_table import LiveProcess
from runner.contract.profile import Frame, Profile, Stack, StackKind, StackProfile
from tests.runner.sample_reports import profile

PROGRAM = LiveProgram(LiveProcess(7, 1, 0, "server", ("/opt/server",), "/"), "/opt/server")


def unnamed_in(module: str) -> Profile:
    """Return a profile whose faults are all in a function without a name."""
    stack = Stack(frames=(0,), weight=100)
    faults = StackProfile(kind=StackKind.FAULTS, samples=100, period=1, total=100, call_graph="fp", stacks=(stack,))
    frames = (Frame(function="[unknown]", module=module),)
    return profile().model_copy(update={"frames": frames, "faults": faults})


def test_a_stripped_library_gets_its_debug_package() -> None:
    (remark,) = describe_missing_names(unnamed_in("/usr/lib/libx.so.1"), PROGRAM, lambda path: f"install {path}-dbg")
    assert remark == (
        "100 % of the stacks pass through functions without names, because /usr/lib/libx.so.1 is stripped: "
        "install /usr/lib/libx.so.1-dbg"
    )


def test_a_library_that_cannot_be_read_is_not_called_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    contained = replace(PROGRAM, root="/proc/7/root")
    (remark,) = describe_missing_names(unnamed_in("/usr/lib/libx.so.1"), contained, lambda path: path)
    assert remark == (
        "100 % of the stacks pass through functions without names, because the container's /usr/lib/libx.so.1 cannot "
        "be read: run the command with sudo"
    )


def test_a_library_that_was_replaced_is_not_called_stripped() -> None:
    (remark,) = describe_missing_names(unnamed_in("/usr/lib/libx.so.1 (deleted)"), PROGRAM, lambda path: path)
    assert remark == (
        "100 % of the stacks pass through functions without names, because /usr/lib/libx.so.1 was replaced or "
        "removed since the process started: restart the process"
    )


def test_a_program_that_was_replaced_is_named_even_if_its_path_is_not_text() -> None:
    program = replace(PROGRAM, file=os.fsdecode(b"/opt/caf\xe9"), is_replaced=True)
    (remark,) = describe_missing_names(unnamed_in("caf"), program, lambda path: path)
    assert remark.startswith(r"/opt/caf\udce9 was replaced or removed")


def test_code_that_a_runtime_puts_into_shared_memory_is_not_called_replaced() -> None:
    program = replace(PROGRAM, runtime="dotnet")
    (remark,) = describe_missing_names(
        unnamed_in("/memfd:doublemapper (deleted)"), program, lambda path: f"install {path}"
    )
    assert remark.startswith("100 % of the stacks pass through code that was generated at run time")
    assert "DOTNET_PerfMapEnabled=1" in remark


@pytest.mark.parametrize(
    ("owner", "package"),
    [("libx1:amd64: /usr/lib/libx.so.1", "libx1-dbgsym"), ("libc6:amd64: /lib/libc.so.6", "libc6-dbg")],
)
def test_the_c_library_has_a_package_of_debug_symbols_of_another_name(
    monkeypatch: pytest.MonkeyPatch, owner: str, package: str
) -> None:
    monkeypatch.setattr(
        missing_debug_packages, "_run_query", lambda program, *_: owner if program == "dpkg-query" else ""
    )
    assert f"`apt install {package}`" in find_debug_package("/usr/lib/any.so")
