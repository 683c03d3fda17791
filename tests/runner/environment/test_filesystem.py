"""The file system of a folder, by the kernel's list of mounts."""

from pathlib import Path

import pytest

from runner.environment.filesystem import read_settings
from runner.system.tree import Tree

ROOT = "23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw"


@pytest.mark.parametrize(
    ("shown", "point"),
    [
        ("/data", "/data"),
        ("/my\\040disk", "/my disk"),
        ("/my\u00a0disk", "/my\u00a0disk"),
        ("/a \u2028 - b".replace(" ", "\\040"), "/a \u2028 - b"),
    ],
)
def test_a_mount_point_may_have_any_name(shown: str, point: str, tmp_path: Path) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    mounts = f"{ROOT}\n40 23 0:35 / {shown} rw,nosuid shared:9 - tmpfs tmpfs rw,huge=always\n"
    (tmp_path / "proc" / "self" / "mountinfo").write_text(mounts, encoding="utf-8")
    tree = Tree(tmp_path)
    assert read_settings(tree, Path(point, "home"))["filesystem.type"] == "tmpfs huge=always"
    assert read_settings(tree, Path("/home"))["filesystem.type"] == "ext4"
