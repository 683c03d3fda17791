from pathlib import Path

import pytest

from service.config.settings import Config
from service.config.token_forges import TokenForge
from service.errors import ServiceError


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
    config = Config.from_environment(environment)
    expected = TokenForge(
        "https://gitlab.example.org", "glpat-of-tests", b"a secret of sixteen", "https://faults.example.org"
    )
    assert (config.gitlab, config.forgejo) == (expected, None)
    assert "glpat" not in repr(config)
    assert "sixteen" not in repr(config)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("secret", "short", "too short"),
        ("token", "", "has no token"),
        ("token", "two\nlines", "has no token"),
        ("token", None, "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(
    name: str, content: str | None, message: str, environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(ServiceError, match=message) as refused:
        Config.from_environment(environment)
    assert f"FAULTWATCH_GITLAB_{name.upper()}_FILE" in str(refused.value)


@pytest.mark.parametrize("url", ["gitlab.example.org", "ftp://gitlab.example.org", "https://"])
def test_only_an_address_is_one(url: str, environment: dict[str, str]) -> None:
    with pytest.raises(ServiceError, match="FAULTWATCH_GITLAB_URL"):
        Config.from_environment(environment | {"FAULTWATCH_GITLAB_URL": url})
