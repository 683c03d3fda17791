"""Tasks of the roles, run on this machine: programs of a host have stand-ins."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.rendering import ANSIBLE, INSTALLED, run, variables_of

pytestmark = pytest.mark.skipif(not INSTALLED, reason="make hosts installs Ansible")


def tasks_of(file: str) -> Iterator[dict[str, Any]]:
    """Yield the tasks of a file, those of blocks too."""
    pending = yaml.safe_load((ANSIBLE / file).read_text())
    while pending:
        task = pending.pop(0)
        pending = [*task.get("block", ()), *task.get("rescue", ()), *pending]
        yield task


def task(file: str, name: str) -> dict[str, Any]:
    """Return the task of that name, for the user who runs the test."""
    (found,) = [one for one in tasks_of(file) if one["name"] == name]
    return {key: value for key, value in found.items() if key not in {"become", "become_user"}}


def play(folder: Path, tasks: list[dict[str, Any]], variables: Mapping[str, Any], groups: Sequence[str] = ()) -> str:
    """Run tasks on this machine, and return what Ansible said. Programs in ``folder/bin`` are found first."""
    hosts = {"localhost": {"ansible_connection": "local"}}
    children = {group: {"hosts": hosts} for group in groups}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "children": children}}))
    plays = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}", **variables},
            "environment": {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
            "tasks": tasks,
        }
    ]
    (folder / "play.yml").write_text(yaml.safe_dump(plays))
    return run("ansible-playbook", "-i", str(folder / "hosts.json"), str(folder / "play.yml"))


def stand_in(folder: Path, program: str, script: str) -> None:
    """Write a program that the tasks call."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / program).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / program).chmod(0o755)


def test_the_tokens_of_a_retired_host_are_revoked_and_no_others(tmp_path: Path) -> None:
    tokens = [
        {"id": "a", "state": "valid", "name": "runner bench-1"},
        {"id": "b", "state": "valid", "name": "actions bench-1"},
        {"id": "c", "state": "valid", "name": "runner bench-10"},
        {"id": "d", "state": "valid", "name": "my runner bench-1"},
        {"id": "e", "state": "expired", "name": "runner bench-1"},
    ]
    (tmp_path / "tokens.json").write_text(json.dumps(tokens))
    listed = "\n".join(f"{row['id']}  {row['state']:8} until 2030-01-01  read  {row['name']}" for row in tokens)
    (tmp_path / "tokens.txt").write_text(listed + "\n")
    stand_in(
        tmp_path,
        "faultwatch-service",
        f'case "$2 ${{3:-}}" in "list --json") cat {tmp_path}/tokens.json ;; "list ") cat {tmp_path}/tokens.txt ;;'
        f' *) echo "$3" >>{tmp_path}/revoked ;; esac',
    )
    file = "roles/runner/tasks/remove.yml"
    names = [one["name"] for one in tasks_of(file) if "token" in one["name"]]
    host = {"runner_name": "bench-1", "runner_service_host": "localhost", "__runner_delegate": "localhost"}
    play(tmp_path, [task(file, name) for name in names], host)
    assert (tmp_path / "revoked").exists(), "no token was revoked"
    assert (tmp_path / "revoked").read_text().split() == ["a", "b"]


HEALTHY = {
    "inventory_hostname": "localhost",
    "verify_health": {"status": 200, "msg": "OK"},
    "verify_care": {"stdout": "inactive"},
}


@pytest.mark.parametrize("stopped", [None, 3])
def test_each_unit_of_the_service_that_is_stopped_is_found(tmp_path: Path, stopped: int | None) -> None:
    states = ["inactive" if number == stopped else "active" for number in range(4)]
    # systemctl is-active succeeds if at least one of its units is active.
    units = {"rc": 0, "stdout_lines": states}
    tell = {"ansible.builtin.debug": {"msg": "found {{ verify_found | map(attribute='name') | join(' ') }}."}}
    collect = task("tasks/verify_service.yml", "Collect the findings")
    said = play(tmp_path, [collect, tell], HEALTHY | {"verify_units": units})
    assert ("found ." if stopped is None else "found units.") in said


SERVICE = 'echo "$*" >>{0}/calls; case $1 in backup) [ ! -e {0}/full ] && [ ! -e "$2" ] && echo new >"$2" ;; esac'


def upgrade_tasks() -> list[dict[str, Any]]:
    """Return what concerns the backup in an upgrade of the service."""
    return [one for one in tasks_of("roles/service/tasks/upgrade.yml") if "backup" in one["name"].lower()]


def test_each_attempt_to_upgrade_takes_its_own_backup(tmp_path: Path) -> None:
    stand_in(tmp_path, "faultwatch-service", SERVICE.format(tmp_path))
    backup = tmp_path / "before-2.db"
    backup.write_text("of an attempt a week ago\n")
    play(tmp_path, upgrade_tasks(), {"service_backup_folder": str(tmp_path), "__release_version": "2"})
    assert backup.read_text() == "new\n"


def test_a_service_whose_backup_failed_is_started_again_as_it_is(tmp_path: Path) -> None:
    stand_in(tmp_path, "faultwatch-service", SERVICE.format(tmp_path))
    (tmp_path / "full").touch()
    host = {"service_backup_folder": str(tmp_path), "__release_version": "2", "__service_before": "1"}
    restore = task("roles/service/tasks/rollback.yml", "Restore the database from before the upgrade")
    attempt = {"block": upgrade_tasks(), "rescue": [restore]}
    play(tmp_path, [attempt], host)
    assert "restore" not in (tmp_path / "calls").read_text()


def test_a_registration_token_that_is_given_no_more_is_used_no_more(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("expired\n")
    text = (ANSIBLE / "roles/github_runner/tasks/token.yml").read_text()
    (tmp_path / "token.yml").write_text(text.replace("/etc/faultwatch/actions", str(tmp_path)))
    include = {"ansible.builtin.include_tasks": str(tmp_path / "token.yml")}
    host = {"github_runner_token": "", "runner_service_host": "", "inventory_hostname": "localhost"}
    play(tmp_path, [include], host)
    assert not (tmp_path / "given").exists()


def test_who_is_no_administrator_any_more_cannot_become_root(tmp_path: Path) -> None:
    (tmp_path / "faultwatch").write_text("former ALL=(ALL) NOPASSWD: ALL\n")
    text = (ANSIBLE / "roles/base/tasks/users.yml").read_text().replace("/etc/sudoers.d", str(tmp_path))
    tasks = [one for one in yaml.safe_load(text) if str(tmp_path) in yaml.safe_dump(one)]
    play(tmp_path, tasks, {"base_admins": []})
    assert not (tmp_path / "faultwatch").exists()


@pytest.mark.thorough
def test_a_database_whose_setup_was_interrupted_is_completed(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_text("user\n")
    # Instead of PostgreSQL: it refuses to make what there is, and says what there is.
    stand_in(
        tmp_path,
        "runuser",
        f"""shift 3
        case $1 in
        psql) cat {made} ;;
        createuser) ! grep user {made} && echo user >>{made} ;;
        createdb) ! grep database {made} && echo database >>{made} ;;
        esac""",
    )
    tasks = list(tasks_of("roles/service/tasks/postgresql.yml"))[1:]
    for _ in range(2):
        play(tmp_path, tasks, {"service_user": "faultwatch-service"})
        assert made.read_text().split() == ["user", "database"]


def test_a_virtual_environment_that_was_cut_short_is_completed(tmp_path: Path) -> None:
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    # The module venv makes the link to Python first, and pip's program last.
    (programs / "python").symlink_to(sys.executable)
    stand_in(tmp_path, "python3", 'echo "$*" >>"$3/made"; touch "$3/bin/pip"')
    create = task("roles/release/tasks/install.yml", "Create the virtual environment")
    play(tmp_path, [create, create], {"__release_folder": str(tmp_path)})
    assert (tmp_path / ".venv" / "made").read_text() == f"-m venv {tmp_path}/.venv\n"


SYSTEMCTL = """case $1 in
list-unit-files) echo "fstrim.timer enabled enabled"; echo "logrotate.timer enabled enabled"
    echo "irqbalance.service enabled enabled" ;;
show) echo LoadState=loaded; echo UnitFileState={state}
    [ {state} = enabled ] && echo ActiveState=active || echo ActiveState=inactive ;;
is-enabled) [ {state} = enabled ] ;;
*) echo "$*" >>{calls} ;;
esac"""


def stand_in_for_systemctl(folder: Path, state: str = "enabled") -> None:
    """Write a systemctl that says of each unit that it is enabled or disabled, and records all changes."""
    stand_in(folder, "systemctl", SYSTEMCTL.format(state=state, calls=folder / "calls"))


def below(folder: Path, file: str) -> list[dict[str, Any]]:
    """Return the tasks of a file, for a system whose folders are below another."""
    text = (ANSIBLE / file).read_text()
    for name in ("/etc/", "/usr/", "/run/"):
        text = re.sub(rf"(?<=[ '\"]){name}", f"{folder}{name}", text)
    return list(yaml.safe_load(text))


@pytest.mark.parametrize("groups", [pytest.param(["runners"], marks=pytest.mark.thorough), ["runners", "service"]])
def test_a_runner_that_is_retired_leaves_the_service_of_its_host_alone(tmp_path: Path, groups: list[str]) -> None:
    stand_in_for_systemctl(tmp_path)
    stand_in(tmp_path, "userdel", "exit 1")
    care = tmp_path / "usr/local/libexec/faultwatch/care"
    timer = tmp_path / "etc/systemd/system/faultwatch-upgrades.timer"
    for file in (care, timer):
        file.parent.mkdir(parents=True)
        file.touch()
    play(tmp_path, below(tmp_path, "roles/base/tasks/remove.yml"), {"base_user": "no-such-user"}, groups)
    assert care.exists() is timer.exists() is ("service" in groups)
    calls = (tmp_path / "calls").read_text()
    assert "stop faultwatch-hold@retire.service" in calls
    assert ("stop faultwatch-upgrades.timer" in calls) is ("service" not in groups)


@pytest.mark.thorough
def test_the_timers_that_were_stopped_run_again_on_a_host_that_is_retired(tmp_path: Path) -> None:
    stand_in_for_systemctl(tmp_path)
    (tmp_path / "etc/faultwatch").mkdir(parents=True)
    (tmp_path / "usr/sbin").mkdir(parents=True)
    (tmp_path / "usr/sbin/irqbalance").touch()
    recorded = {
        "__tuning_grub": "/nowhere",
        "__tuning_stopped": f"{tmp_path}/etc/faultwatch/stopped-units",
        "__tuning_to_stop": variables_of("tuning")["__tuning_to_stop"],
    }
    host = {"tuning_timers_off": ["fstrim", "man-db"], "tuning_irq_balance": False, **recorded}
    play(tmp_path, below(tmp_path, "roles/tuning/tasks/stop_periodic_maintenance.yml"), host)
    assert "disable fstrim.timer" in (tmp_path / "calls").read_text()
    stand_in_for_systemctl(tmp_path, "disabled")
    (tmp_path / "calls").unlink()
    tasks = below(tmp_path, "roles/tuning/tasks/remove.yml")
    play(tmp_path, tasks, host | {"__base_is_container": True})
    enabled = re.findall("^enable (.*)$", (tmp_path / "calls").read_text(), re.MULTILINE)
    assert sorted(enabled) == ["fstrim.timer", "irqbalance.service"]
    assert not list((tmp_path / "etc/faultwatch").iterdir())


def test_a_build_that_is_cut_short_leaves_no_half_wheel_in_the_cache(tmp_path: Path) -> None:
    command = task("roles/release/tasks/build.yml", "Build the wheel of the commit")["ansible.builtin.shell"]
    cache = tmp_path / "cache"
    cache.mkdir()
    values = {
        "release_source | quote": "source",
        "release_cache | quote": str(cache),
        "__release_version": "abc",
        "__release_built | quote": f"{cache}/abc",
        "ansible_playbook_python | quote": "python-stand-in",
    }
    for name, value in values.items():
        command = command.replace(f"{{{{ {name} }}}}", value)
    last = 'for last in "$@"; do true; done'
    stand_in(tmp_path, "git", f'{last}; case $1 in clone) mkdir -p "$last" ;; esac')
    stand_in(tmp_path, "python-stand-in", f'{last}; mkdir -p "$last/bin"; cp "$0-pip" "$last/bin/python"')
    stand_in(tmp_path, "python-stand-in-pip", 'case "$*" in *--wheel-dir*) mkdir "${0%/venv/bin/python}/wheel" ;; esac')
    # A move to another filesystem is a copy, which can be cut short.
    stand_in(tmp_path, "mv", 'case $1 in -*) shift ;; esac; [ "${1%/*/wheel}" = "${2%/abc}" ] && exec /bin/mv "$@"')
    variables = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TMPDIR": "/tmp"}
    subprocess.run(["bash", "-c", command], env=variables, check=True)
    assert [folder.name for folder in cache.iterdir()] == ["abc"]


def test_a_service_that_an_interrupted_upgrade_left_stopped_is_started(tmp_path: Path) -> None:
    stand_in_for_systemctl(tmp_path, "disabled")
    tasks = below(tmp_path, "roles/service/tasks/upgrade.yml")[1:]
    # The link names the new version already, but nobody has started it.
    host = {"__release_before": {"stat": {"lnk_source": "/opt/faultwatch/service/2"}}, "__release_version": "2"}
    play(tmp_path, tasks, host)
    started = re.findall("^start (.*)$", (tmp_path / "calls").read_text(), re.MULTILINE)
    assert started == ["faultwatch-service.socket", "faultwatch-service.service"]
