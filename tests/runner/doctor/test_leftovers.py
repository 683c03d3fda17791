"""What earlier versions left behind is found and cleared; what is in use stays."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.doctor.leftovers import clear_leftovers, leftovers
from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckStatus
from runner.system.tree import Tree


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostProbe:
    for folder in ("root/sys/kernel", "root/proc", "home", "tmp"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "root/proc/cmdline").write_text("quiet\n")
    (tmp_path / "root/sys/kernel/rcu_expedited").write_text("0\n")
    return HostProbe(tree=Tree(tmp_path / "root"), home=tmp_path / "home", is_root=True)


def test_a_host_in_order_is_left_alone(host: HostProbe) -> None:
    (host.home / "builds" / "trusted" / "key-0").mkdir(parents=True)
    assert leftovers(host).status is CheckStatus.OK
    assert clear_leftovers(host) == []
    assert (host.home / "builds" / "trusted" / "key-0").exists()


def test_what_earlier_versions_left_is_named_and_cleared(host: HostProbe, tmp_path: Path) -> None:
    builds = host.home / "builds"
    (builds / ("a" * 40 + "-" + "0" * 16) / "tree").mkdir(parents=True)
    (builds / "sandbox" / "key-0").mkdir(parents=True)
    (host.home / "measuring.lock").touch()
    for name, age in (("faultwatch-abcd1234", 2), ("faultwatch-young123", 0), ("faultwatch-bench-abcd", 2)):
        (tmp_path / "tmp" / name).mkdir()
        os.utime(tmp_path / "tmp" / name, (time.time() - age * 86_400,) * 2)
    (tmp_path / "root/sys/kernel/rcu_expedited").write_text("1\n")
    check = leftovers(host)
    assert check.status is CheckStatus.WARNING
    assert "a" * 40 in check.finding
    assert len(clear_leftovers(host)) == 4
    assert [path.name for path in builds.iterdir()] == ["sandbox"]
    assert {path.name for path in (tmp_path / "tmp").iterdir()} == {"faultwatch-young123", "faultwatch-bench-abcd"}
    assert (tmp_path / "root/sys/kernel/rcu_expedited").read_text() == "0"
    assert leftovers(host).status is CheckStatus.OK


def test_what_the_kernel_was_told_at_boot_stays(host: HostProbe, tmp_path: Path) -> None:
    (tmp_path / "root/proc/cmdline").write_text("quiet rcupdate.rcu_expedited=1\n")
    (tmp_path / "root/sys/kernel/rcu_expedited").write_text("1\n")
    assert leftovers(host).status is CheckStatus.OK
    assert clear_leftovers(host) == []


def test_work_trees_that_were_checked_out_for_builds_go_and_the_users_own_stay(
    host: HostProbe, git: Callable[..., str], commit: Callable[..., str], tmp_path: Path
) -> None:
    commit("One", file="1")
    ours, theirs = host.home / "builds" / "x.partial" / "worktree", tmp_path / "theirs"
    for place in (ours, theirs):
        git("worktree", "add", "--quiet", "--detach", str(place))
        shutil.rmtree(place)
    (host.home / "subjects").mkdir()
    document = {"repository": str(tmp_path / "subject"), "workloads": {}}
    (host.home / "subjects" / "subject.json").write_text(json.dumps(document))
    assert "worktrees" in " ".join(clear_leftovers(host))
    assert str(ours) not in git("worktree", "list")
    assert str(theirs) in git("worktree", "list")
    assert leftovers(host).status is CheckStatus.OK
