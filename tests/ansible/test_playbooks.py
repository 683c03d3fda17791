"""The playbooks before any host: syntax, lint, argument specifications, and what the templates write."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ansible.rendering import ANSIBLE, INSTALLED, ROOT, Rendered, defaults, render, run, variables_of

PLAYBOOKS = sorted(file.name for file in ANSIBLE.glob("*.yml"))
ROLES = sorted(folder.name for folder in (ANSIBLE / "roles").iterdir())

pytestmark = pytest.mark.skipif(not INSTALLED, reason="make hosts installs Ansible")


@pytest.mark.thorough
def test_ansible_lint_finds_nothing(cache: pytest.Cache) -> None:
    # It takes half a minute, and its answer depends on these files alone: what has passed is remembered.
    files = [file for file in ANSIBLE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    digest = hashlib.sha256()
    for file in [ROOT / "requirements-hosts.txt", *sorted(files)]:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    if cache.get("ansible-lint/passed", "") == digest.hexdigest():
        return
    # It checks the syntax of every playbook too.
    run("ansible-lint", "--offline", "--profile", "production", "-q", ".")
    cache.set("ansible-lint/passed", digest.hexdigest())


def test_there_is_a_playbook_for_each_step_of_a_host_s_life() -> None:
    assert [f"{name}.yml" for name in ["retire", "runner", "service", "site", "tune", "upgrade", "verify"]] == PLAYBOOKS


def specs(role: str) -> dict[str, Any]:
    text = (ANSIBLE / "roles" / role / "meta" / "argument_specs.yml").read_text()
    return yaml.safe_load(text)["argument_specs"]["main"]["options"]


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_has_a_default_and_is_explained(role: str) -> None:
    assert set(defaults(role)) == set(specs(role))
    for name, spec in specs(role).items():
        assert name.startswith(f"{role}_")
        assert spec["description"]
        assert spec["type"]


FACTS = {
    "distribution": "Debian",
    "distribution_version": "12.1",
    "distribution_major_version": "12",
    "distribution_release": "bookworm",
    "fqdn": "faults.example.org",
    # As seen where the last two of four are isolated already.
    "processor": [word for number in "0123" for word in (number, "GenuineIntel", "Intel(R) Xeon(R) CPU E5-2630 v4")],
    "processor_nproc": 2,
    "architecture": "x86_64",
    "virtualization_role": "host",
    "virtualization_type": "kvm",
}


def system(distribution: str, version: str, release: str) -> dict[str, Any]:
    """The facts of a host with another system."""
    told = {"distribution": distribution, "distribution_version": version, "distribution_release": release}
    return {"facts": FACTS | told | {"distribution_major_version": version.partition(".")[0]}}


RIGHT: dict[str, Any] = {
    "matrix_configurations": {"plain": {}, "huge": {"tuning_huge_pages": "always"}},
    "matrix_configuration": "huge",
    "tuning_isolated_cpus": "2-3",
}
ACTIONS = {"github_runner_repository": "o/r", "github_runner_version": "2", "github_runner_checksum": "0" * 64}
WRONG: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "types": ("runners", {"tuning_huge_pages": "some", "base_patience": "x"}, ["tuning_huge_pages", "base_patience"]),
    "misspelt": ("runners", {"tuning_hugepages": "never"}, ["no role has a variable tuning_hugepages"]),
    "processors": ("runners", {"tuning_isolated_cpus": "2-9"}, ["tuning_isolated_cpus is 2-9", "up to 3"]),
    "configuration": ("runners", {"matrix_configuration": "huge"}, ["matrix_configuration is huge", "offers plain"]),
    "setting": ("runners", {"matrix_configurations": {"plain": {"tuning_swapp": True}}}, ["not know: tuning_swapp"]),
    "token": ("runners", ACTIONS | {"github_runner_token": "x"}, ["github_runner_token serves one registration"]),
    "archive": ("runners", {"github_runner_repository": "o/r"}, ["github_runner_checksum"]),
    "certificate": ("service", {"service_tls": "files"}, ["set service_tls_certificate"]),
    "workers": ("service", {"service_workers": 0}, ["service_workers is 0"]),
    "fedora": ("runners", system("Fedora", "41", ""), ["fedora runs Fedora 41; the roles support Debian 12"]),
    "older": ("service", system("Debian", "11.9", "bullseye"), ["older runs Debian 11.9; the roles support Debian 12"]),
    "between": ("runners", system("Ubuntu", "24.10", "oracular"), ["between runs Ubuntu 24.10; the roles support"]),
    "longer": ("runners", system("Ubuntu", "22.04", "jammy"), ["longer runs Ubuntu 22.04; the roles support"]),
}  # fmt: skip
KNOWN: dict[str, dict[str, Any]] = {
    "bookworm": system("Debian", "12.11", "bookworm"),
    "trixie": system("Debian", "13.0", "trixie"),
    "noble": system("Ubuntu", "24.04", "noble"),
}
SECRET = "-----BEGIN PRIVATE KEY-----\nkept to itself\n-----END PRIVATE KEY-----\n"
SECRETS: dict[str, Any] = {
    "service_tls": "files",
    "service_tls_certificate": "-----BEGIN CERTIFICATE-----\nTold\n-----END CERTIFICATE-----\n",
    "service_tls_key": SECRET,
    "service_github_app": 1,
    "service_github_key": SECRET,
    "service_github_secret": "of sixteen bytes",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Host → what is said of its variables, as every playbook looks at them first; nothing is changed."""
    folder = tmp_path_factory.mktemp("check")
    (folder / "roles").symlink_to(ANSIBLE / "roles")
    groups: dict[str, Any] = {
        "runners": {"hosts": {name: facts | RIGHT for name, facts in KNOWN.items()}},
        "service": {"hosts": {"keys": {"facts": FACTS} | SECRETS}},
    }
    for host, (group, variables, _) in WRONG.items():
        groups[group]["hosts"][host] = {"facts": FACTS} | variables
    (folder / "hosts.json").write_text(
        json.dumps({"all": {"vars": {"ansible_connection": "local"}, "children": groups}})
    )
    play = {
        "hosts": "all",
        "gather_facts": False,
        "any_errors_fatal": False,
        "tasks": [
            {"ansible.builtin.set_fact": {name: f"{{{{ facts.{name} }}}}" for name in FACTS} | {"cacheable": True}},
            {"ansible.builtin.include_tasks": str(ANSIBLE / "tasks" / "check.yml")},
        ],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    said = run("ansible-playbook", "-i", str(folder / "hosts.json"), str(folder / "play.yml"), check=False)
    parts = re.split(r"^(?:fatal|failed): \[(\w+)\]", said.partition("PLAY RECAP")[0], flags=re.MULTILINE)
    assert "kept to itself" not in said
    recap = dict(re.findall(r"^(\w+) +: (ok=.*)$", said, re.MULTILINE))
    for host, text in zip(parts[1::2], parts[2::2], strict=True):
        recap[host] += " " + " ".join(text.split())
    return recap


@pytest.mark.parametrize("host", WRONG)
def test_a_wrong_variable_is_named_before_anything_is_changed(answers: dict[str, str], host: str) -> None:
    assert "failed=1" in answers[host]
    assert "changed=0" in answers[host]
    for part in WRONG[host][2]:
        assert part in answers[host]


@pytest.mark.parametrize("host", [*KNOWN, "keys"])
def test_right_variables_pass_on_each_system_that_the_roles_know(answers: dict[str, str], host: str) -> None:
    assert "failed=0" in answers[host]


def test_a_host_that_was_never_made_is_told_so(tmp_path: Path) -> None:
    hosts = {"bench": {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}}
    groups = {"all": {"children": {"runners": {"hosts": hosts}, "service": {"hosts": hosts}}}}
    (tmp_path / "hosts.json").write_text(json.dumps(groups))
    look = {"ansible.builtin.include_tasks": str(ANSIBLE / "tasks" / "verify.yml"), "vars": {"verify_room": "runner"}}
    table = {"ansible.builtin.debug": {"msg": "{{ verify_found | findings_table }}"}}
    take = {"ansible.builtin.include_tasks": str(ANSIBLE / "tasks" / "require_set_up.yml")}
    (tmp_path / "play.yml").write_text(
        yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [look, table, take]}])
    )
    said = run("ansible-playbook", "-i", str(tmp_path / "hosts.json"), str(tmp_path / "play.yml"), check=False)
    row = "bench +runner +problem +it was never set up, or was retired +run ansible-playbook runner.yml"
    assert re.search(row, said)
    assert (
        "bench was never set up as a service and a runner, or was retired: run site.yml first, or service.yml" in said
    )
    assert "changed=0" in said


# Every template that a shell runs: role and name.
PROGRAMS = sorted(
    (file.parent.parent.name, file.stem)
    for file in ANSIBLE.glob("roles/*/templates/*.j2")
    if re.match(r"#!.*sh\n", file.read_text())
)


ODD = 'a$b "c" `d` \\e'


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the templates write."""
    folder = tmp_path_factory.mktemp("written")
    other = {"service_github_app": 7, "service_database": "postgresql"}
    command_line = {"tuning_isolated_cpus": "2-3", "tuning_kernel_parameters": ["nosmt"]}
    render(
        folder,
        [
            *(Rendered(role, name, name) for role, name in PROGRAMS),
            Rendered("github_runner", "actions", "actions-persistent", {"github_runner_ephemeral": False}),
            Rendered("service", "care", "care-postgresql", {"service_database": "postgresql"}),
            Rendered("service", "settings", "plain"),
            Rendered("service", "settings", "other", other),
            Rendered("service", "settings", "odd", {"service_environment": {"ODD": ODD}}),
            Rendered("service", "Caddyfile", "Caddyfile", {"service_tls": "internal"}),
            Rendered("tuning", "tuning.conf", "tuning.conf"),
            Rendered("tuning", "grub.cfg", "grub.cfg", command_line),
        ],
    )
    return folder


def test_settings_of_the_service_hold_the_app_only_where_there_is_one(written: Path) -> None:
    plain, other = (written / "plain").read_text(), (written / "other").read_text()
    assert 'DATABASE_URL="sqlite:////var/lib/faultwatch-service/faultwatch.db"' in plain
    assert 'FAULTWATCH_ACCESS="tokens"' in plain
    assert "GITHUB" not in plain
    assert 'FAULTWATCH_GITHUB_APP="7"' in other
    assert 'DATABASE_URL="postgresql://faultwatch-service@/faultwatch?host=/var/run/postgresql"' in other


def test_a_shell_and_systemd_read_any_value_as_it_is(written: Path) -> None:
    """systemd.exec(5) unquotes as a shell does, except that it expands nothing."""
    script = 'set -eu; . "$0"; printf %s "$ODD"'
    done = subprocess.run(["sh", "-c", script, written / "odd"], capture_output=True, text=True, check=False)
    assert done.stdout == ODD, done.stderr


def test_the_web_server_speaks_tls_for_the_service(written: Path) -> None:
    text = (written / "Caddyfile").read_text()
    assert "f.example.org {\n\ttls internal\n" in text
    assert "reverse_proxy 127.0.0.1:8080" in text


def test_what_is_set_at_each_start_leaves_out_what_is_to_be_left_alone(written: Path) -> None:
    text = (written / "tuning.conf").read_text()
    assert "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n" in text
    assert "w /sys/devices/system/cpu/intel_pstate/no_turbo - - - - 1\n" in text
    assert "w /sys/devices/system/cpu/cpufreq/boost - - - - 0\n" in text
    assert "smt" not in text
    isolated = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 nosmt"
    assert f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {isolated}"' in (written / "grub.cfg").read_text()


@pytest.mark.parametrize("program", [*(name for _, name in PROGRAMS), "actions-persistent", "care-postgresql"])
def test_the_shell_programs_are_sound(written: Path, program: str) -> None:
    done = subprocess.run(["shellcheck", written / program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_settings_that_are_set_are_those_of_the_environment() -> None:
    # What is declared under another name than the runner's would be a mismatch for ever.
    code = "".join(file.read_text() for file in (ROOT / "runner" / "environment").glob("*.py"))
    names = {file["name"] for file in variables_of("tuning")["__tuning_files"] if "name" in file} | {"swap.kinds"}
    for name in names:
        prefix, _, last = name.partition(".")
        assert f'"{name}"' in code or (f'"{last}"' in code and f'"{prefix}.' in code), name


def test_the_example_inventory_holds_only_variables_that_there_are() -> None:
    known = {name for role in ROLES for name in specs(role)}
    for file in ANSIBLE.glob("inventory/**/*.yml"):
        text = yaml.safe_load(file.read_text()) or {}
        names = set(text) if "group_vars" in file.parts or "host_vars" in file.parts else set()
        assert names - known <= {"ansible_user"}, file


def test_settings_are_set_where_the_machine_has_them_and_said_as_the_runner_names_them(tmp_path: Path) -> None:
    files = {"enabled": "[always] madvise never\n", "boost": "1\n", "smt": "notsupported\n", "policy0": "powersave\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    settings = [
        {"name": "thp.enabled", "path": f"{tmp_path}/enabled", "value": "always"},
        {"name": "cpu.turbo", "path": f"{tmp_path}/boost", "value": 0, "shown": "off"},
        {"name": "cpu.smt", "path": f"{tmp_path}/smt", "value": "off"},
        {"name": "cpu.governor", "path": f"{tmp_path}/policy*", "value": "performance"},
        {"name": "ksm.run", "path": f"{tmp_path}/ksm", "value": 0},
    ]
    held = {"thp.enabled": "always", "cpu.turbo": "off", "cpu.governor": "performance"}
    task = {"settings": {"settings": settings}, "register": "done"}
    right = {
        "ansible.builtin.assert": {"that": ["done is changed", f"done.held == {held}", "done.absent | length == 2"]}
    }
    again = {"ansible.builtin.assert": {"that": ["done is not changed", f"done.held == {held}"]}}
    dry = task | {"check_mode": True}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": "{{ ansible_playbook_python }}"},
        "tasks": [dry, right, task, right, task, again],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    run("ansible-playbook", "-i", "localhost,", "-c", "local", str(tmp_path / "play.yml"))
    assert (tmp_path / "policy0").read_text() == "performance"
    assert (tmp_path / "smt").read_text() == "notsupported\n"
