from pathlib import Path

import pytest

from runner.contract.gate import ForgeKind
from service.errors import ServiceError
from service.forges.gitlab.settings import GitlabSettings
from service.forges.registry import read_config


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "token").write_text("glpat-of-tests\n")
    (tmp_path / "secret").write_text("a secret of sixteen\n")
    return {
        "FAULTWATCH_GITLAB_URL": "https://gitlab.example.org/",
        "FAULTWATCH_GITLAB_TOKEN_FILE": str(tmp_path / "token"),
        "FAULTWATCH_GITLAB_SECRET_FILE": str(tmp_path / "secret"),
        "FAULTWATCH_ADDRESS": "https://faults.example.org/",
    }


def test_a_forge_is_read_from_the_environment_and_its_secrets_are_never_written(environment: dict[str, str]) -> None:
    config = read_config(environment)
    expected = GitlabSettings(
        url="https://gitlab.example.org",
        token="glpat-of-tests",
        secret=b"a secret of sixteen",
        address="https://faults.example.org",
    )
    assert config.forges == {ForgeKind.GITLAB: expected}
    assert "glpat" not in repr(config)
    assert "sixteen" not in repr(config)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("secret", "short", "too short"),
        ("token", "", "file is empty"),
        ("token", "two\nlines", "characters that a token or secret cannot have"),
        ("token", None, "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(
    name: str, content: str | None, message: str, environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(ServiceError, match=message) as refused:
        read_config(environment)
    assert f"FAULTWATCH_GITLAB_{name.upper()}_FILE" in str(refused.value)


@pytest.mark.parametrize("url", ["gitlab.example.org", "ftp://gitlab.example.org", "https://"])
def test_only_an_address_is_one(url: str, environment: dict[str, str]) -> None:
    with pytest.raises(ServiceError, match="FAULTWATCH_GITLAB_URL"):
        read_config(environment | {"FAULTWATCH_GITLAB_URL": url})
