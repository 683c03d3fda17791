"""Each environment variable that the code reads is in the table of its package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from runner import variables as of_runner
from service.config.identity_provider import IdentityProvider
from service.config.notifications import NotificationFile
from service.config.settings import Config
from service.config.settings_list import list_settings
from service.config.trusted_jobs import TrustedJobs
from service.forges.registry import SETTINGS, read_config

ROOT = Path(__file__).parents[2]
RUNNER = {variable.name for variable in of_runner.VARIABLES}
OF_SERVICE = [
    variable
    for section in (Config, IdentityProvider, *SETTINGS, TrustedJobs, NotificationFile)
    for variable in section.list_variables()
]
SERVICE = {variable.name for variable in OF_SERVICE}
SET_FOR_OTHERS = {variable.name for variable in of_runner.VARIABLES_FOR_PROGRAMS}
OF_OTHERS = {
    "GITHUB_API_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "CI_JOB_URL",
    "CI_MERGE_REQUEST_IID",
    "CI_MERGE_REQUEST_PROJECT_PATH",
    "CI_PROJECT_PATH",
    "FORGEJO_ACTIONS",
    "GITEA_ACTIONS",
    "GITHUB_ACTIONS",
    "GITHUB_EVENT_NAME",
    "GITHUB_OUTPUT",
    "GITHUB_REF",
    "GITHUB_REPOSITORY",
    "GITHUB_RUN_ID",
    "GITHUB_RUN_NUMBER",
    "GITHUB_SERVER_URL",
    "GITHUB_STEP_SUMMARY",
    "GITLAB_CI",
    "LISTEN_PID",
    "PATH",
    "RUSTUP_HOME",
}
"""Set by a CI system or by the operating system, and no settings."""
TABLES = {ROOT / "runner" / "variables.py"}
PASSED_TO_JOBS = {"FAULTWATCH_TOKEN", "FAULTWATCH_URL"}
"""Set by the service for the runner that it starts."""


def names_in(source: str) -> set[str]:
    """Return the variables of Faultwatch in strings, and all that are read from an environment by a literal name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"FAULTWATCH_[A-Z_]*[A-Z]", text):
            found.add(text)
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            place, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            place, key = node.func.value, node.args[0]
            if node.func.attr == "getenv":
                place = ast.Name("environ")
            elif node.func.attr not in {"get", "pop"}:
                continue
        else:
            continue
        reads = ast.unparse(place).rpartition(".")[2] in {"environ", "environment"}
        if reads and isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isupper():
            found.add(key.value)
    return found


def in_folder(*folders: str) -> set[str]:
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py")) if file not in TABLES]
    assert files
    return set().union(*(names_in(file.read_text(encoding="utf-8")) for file in files))


def test_each_variable_of_the_runner_is_in_its_table() -> None:
    given_to_the_service = {"FAULTWATCH_JOBS_HERE", "FAULTWATCH_NOTIFICATIONS"}
    assert in_folder("runner", "faultwatch") - SET_FOR_OTHERS - OF_OTHERS - given_to_the_service == RUNNER


def test_each_variable_of_the_service_is_in_its_table() -> None:
    assert in_folder("service") - OF_OTHERS - PASSED_TO_JOBS <= SERVICE


def test_a_variable_that_is_not_in_the_table_cannot_be_read() -> None:
    with pytest.raises(KeyError):
        of_runner.get_value("FAULTWATCH_WEATHER")


@pytest.mark.parametrize(
    "source",
    ['os.environ["NEW_ONE"]', 'os.environ.get("NEW_ONE", "")', 'os.getenv("NEW_ONE")', 'environment.get("NEW_ONE")'],
)
def test_the_search_finds_every_way_of_reading(source: str) -> None:
    assert names_in(source) == {"NEW_ONE"}


def test_each_variable_of_the_service_is_shown(tmp_path: Path) -> None:
    for name in ("key", "secret"):
        (tmp_path / name).write_text("k" * 40)
    environment = {
        "FAULTWATCH_GITHUB_APP": "7",
        "FAULTWATCH_GITHUB_KEY_FILE": str(tmp_path / "key"),
        "FAULTWATCH_GITHUB_SECRET_FILE": str(tmp_path / "secret"),
        **{
            f"FAULTWATCH_{forge}_{name}": value
            for forge in ("GITLAB", "FORGEJO")
            for name, value in (
                ("URL", "https://forge.example.org"),
                ("TOKEN_FILE", str(tmp_path / "key")),
                ("SECRET_FILE", str(tmp_path / "secret")),
            )
        },
        "FAULTWATCH_ACTIONS_REPOSITORIES": "a/b",
        "FAULTWATCH_OIDC_ISSUER": "https://id.example.org",
        "FAULTWATCH_OIDC_CLIENT": "faultwatch",
        "FAULTWATCH_OIDC_SECRET_FILE": str(tmp_path / "secret"),
        "FAULTWATCH_OIDC_GROUPS": "perf=read",
        "FAULTWATCH_ADDRESS": "https://faults.example.org",
    }
    groups = list_settings(read_config(environment), SETTINGS, environment, "no file")
    assert {setting.variable for group in groups for setting in group.settings} == SERVICE - {
        "FAULTWATCH_NOTIFICATIONS"  # its file cannot be read, which the group says instead
    }
    sources = {setting.variable: setting.source for group in groups for setting in group.settings}
    assert sources["FAULTWATCH_GITHUB_KEY_FILE"] == str(tmp_path / "key")
    assert (sources["FAULTWATCH_ADDRESS"], sources["FAULTWATCH_WORKERS"]) == ("environment", "default")


def test_each_variable_says_what_it_is() -> None:
    for variable in (*OF_SERVICE, *of_runner.VARIABLES):
        assert variable.meaning.endswith("."), variable.name
        assert variable.default.strip("` "), variable.name
