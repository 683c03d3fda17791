"""Who may observe a process, and how others are told to permit it."""

from pathlib import Path

import pytest

from runner.attach.attach_permission import Observer, require_permission
from runner.attach.process_table import LiveProcess
from runner.errors import FaultwatchError
from runner.system.tree import Tree

PROCESS = LiveProcess(7, 1, 0, "server", ("server",))
USER = Observer(1000, may_record=False, may_inspect=False)
CONTAINED_ROOT = Observer(0, may_record=False, may_inspect=False)


def refused(root: Path, observer: Observer) -> FaultwatchError:
    with pytest.raises(FaultwatchError) as caught:
        require_permission(Tree(root), PROCESS, observer)
    return caught.value


@pytest.mark.parametrize("owner", [None, 2000])
def test_only_an_ordinary_user_is_advised_to_use_sudo(owner: int | None, tmp_path: Path) -> None:
    if owner is not None:
        (tmp_path / "proc/7").mkdir(parents=True)
        (tmp_path / "proc/7/status").write_text(f"Uid:\t{owner}\t{owner}\t{owner}\t{owner}\n")
    assert "run the command with sudo" in refused(tmp_path, USER).remedy
    remedy = refused(tmp_path, CONTAINED_ROOT).remedy
    assert "sudo" not in remedy
    assert "give this container the capabilities" in remedy
