"""A count that cannot depend on the revision is remarked on."""

from pathlib import Path

import pytest

from runner.mapped_files.build_usage import list_doubts

SYSTEM = "/usr/lib/x86_64-linux-gnu"


@pytest.mark.parametrize(
    ("built", "own", "system", "said"),
    [
        (["program"], ["program"], ["libc.so.6"], []),
        ([], [], ["libc.so.6"], ["the program neither mapped nor read any file of the build"]),
        (
            ["program", "lib/libz.so.1"],
            ["program"],
            ["libz.so.1.2.13"],
            ["loaded {}/libz.so.1.2.13 instead of lib/libz.so.1"],
        ),
        (["program", "libz.so"], ["program", "libz.so"], ["libz.so.1.2.13"], []),
        (["program", "libz.a"], ["program"], ["libz.so.1.2.13"], []),
    ],
)
def test_doubts(built: list[str], own: list[str], system: list[str], said: list[str], tmp_path: Path) -> None:
    for name in built:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    lines = list(list_doubts(tmp_path, [tmp_path / name for name in own], [Path(SYSTEM, name) for name in system]))
    assert len(lines) == len(said)
    assert all(part.format(SYSTEM) in line for line, part in zip(lines, said, strict=True))
