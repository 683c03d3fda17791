"""Containers that are given by name."""

import pytest

from runner.attach import containers
from runner.attach.process_table import LiveProcess
from runner.errors import FaultwatchError


def test_without_an_engine_no_name_of_a_container_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(FaultwatchError, match=r"no running container has the id 'db'.*\(podman, docker, nerdctl\)"):
        containers.find_container({}, "db")


def test_a_container_that_no_engine_runs_is_refused_with_the_engines_that_were_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda engine: None if engine == "podman" else f"/no-such-folder/{engine}")
    monkeypatch.setenv("PATH", "/no-such-folder")
    with pytest.raises(FaultwatchError, match=r"container named 'db'; asked: docker, nerdctl") as caught:
        containers.find_container({}, "db")
    assert caught.value.remedy.startswith("list the containers with `docker ps`")


def test_an_id_that_several_containers_share_is_refused_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    groups = {pid: f"/docker/abc{pid}{'0' * 60}" for pid in (1, 2)}
    table = {pid: LiveProcess(pid, 0, 0, "server", group=group) for pid, group in groups.items()}
    with pytest.raises(FaultwatchError, match="the ids of 2 containers begin with 'abc'"):
        containers.find_container(table, "abc")
