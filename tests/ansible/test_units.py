"""The units of systemd that the roles install: how much of the system each can reach, and its limits."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.ansible.rendering import ANSIBLE, INSTALLED, Rendered, render

pytestmark = pytest.mark.skipif(not INSTALLED, reason="make hosts installs Ansible")

UNITS = sorted((file.parent.parent.name, file.stem) for file in ANSIBLE.glob("roles/*/templates/*.service.j2"))
DATABASE_UNITS = ["faultwatch-service.service", "faultwatch-care.service"]
NAMES = [*(name for _, name in UNITS), *(f"postgresql-{name}" for name in DATABASE_UNITS)]
EXPOSURE = 1.5
"""The highest exposure, as systemd-analyze rates it from 0 to 10."""
PROXY = "http://user:p%40ss%22word@proxy:3128"
EXCEPTIONS = {
    # bubblewrap, perf and the compilers of any repository run in it; the template says what each omission is for.
    "faultwatch-actions.service": 3.6,
    # Root: writes the settings of the machine.
    "faultwatch-tuning.service": 4.5,
    # Root: apt runs the scripts of packages.
    "faultwatch-upgrades.service": 7.7,
}


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the units."""
    folder = tmp_path_factory.mktemp("units")
    postgresql = {"service_database": "postgresql"}
    render(
        folder,
        [
            *(Rendered(role, name, name) for role, name in UNITS),
            *(Rendered("service", name, f"postgresql-{name}", postgresql) for name in DATABASE_UNITS),
            Rendered(
                "base", "faultwatch-upgrades.service", "proxy.service", {"base_environment": {"https_proxy": PROXY}}
            ),
        ],
    )
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_reaches_no_more_of_the_system_than_it_needs(units: Path, name: str) -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(units / name)],
        capture_output=True,
        text=True,
        check=True,
    )
    # Misspelt settings are only warned of.
    assert not re.search("Unknown|Failed|ignoring", done.stderr, re.IGNORECASE), done.stderr
    figure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert figure, done.stdout
    assert float(figure[1]) <= EXCEPTIONS.get(name, EXPOSURE), done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_has_limits(units: Path, name: str) -> None:
    text = (units / name).read_text()
    for limit in ("MemoryMax", "TasksMax"):
        assert re.search(rf"^{limit}=[1-9][0-9]*[%MG]?$", text, re.MULTILINE), limit


def test_upgrades_pass_through_a_proxy_whose_password_has_a_percent_sign(units: Path) -> None:
    (value,) = re.findall('^Environment="https_proxy=(.*)"$', (units / "proxy.service").read_text(), re.MULTILINE)
    # systemd replaces what begins with a percent sign, and ignores the line if it knows none of that name.
    assert value.replace("%%", "") == PROXY.replace("%", "")
    assert value.replace("%%", "%") == PROXY
