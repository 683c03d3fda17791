import pytest

from runner.environment.capture import capture_environment
from runner.environment.secrets import PLACEHOLDER, hide_secret, hide_secrets


@pytest.mark.parametrize(
    "name",
    ["GH_TOKEN", "githubToken", "DB_PASSWORD", "db_passwd", "AWS_SECRET_ACCESS_KEY", "SSH_KEY", "APIKEY", "API_KEYS",
     "MYSQL_PWD", "CREDENTIALS", "HTTP_AUTH", "SESSION_COOKIE", "luks.key", "KEY"],
)  # fmt: skip
def test_secrets_never_appear(name: str) -> None:
    assert hide_secret(name, "s3cret") == PLACEHOLDER
    assert "s3cret" not in capture_environment(variables={name: "s3cret"}, build_tools={}).model_dump_json()


@pytest.mark.parametrize(
    "name", ["MALLOC_CONF", "KEYBOARD", "MONKEY", "AUTHOR", "COMPASS", "GLIBC_TUNABLES", "PATH", "PWD"]
)
def test_harmless_names_keep_their_values(name: str) -> None:
    assert hide_secret(name, "value") == "value"


def test_passwords_in_addresses_go() -> None:
    assert hide_secret("DATABASE", "postgresql://me:s3cret@db/x") == f"postgresql://{PLACEHOLDER}@db/x"
    assert hide_secret("HOMEPAGE", "https://example.invalid/@me") == "https://example.invalid/@me"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("GET /?a=1&api_token=abc&b=2", f"GET /?a=1&api_token={PLACEHOLDER}&b=2"),
        ("GET /?next=/x?token=abc", f"GET /?next=/x?token={PLACEHOLDER}"),
        ("GET /?token&b=2", "GET /?token&b=2"),
    ],
)
def test_secrets_in_queries_go(text: str, hidden: str) -> None:
    assert hide_secrets(text, {}) == hidden


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["?token", "?key&key", "://x", "?tokentoken=", "://a@"])
def test_no_output_keeps_the_search_for_secrets_busy(text: str) -> None:
    hide_secrets(text * (100_000 // len(text)), {})


def test_an_empty_secret_is_shown_as_empty() -> None:
    assert hide_secret("TOKEN", "") == ""


def test_a_program_that_prints_its_variables_tells_no_secret() -> None:
    variables = {"API_TOKEN": "abcdef", "OTHER_SECRET": "abcdef-longer", "PLAIN": "visible", "SHORT_KEY": "abc"}
    log = "\n".join(f"{name}={value}" for name, value in variables.items()) + "\nGET https://me:pw@host/x"
    hidden = hide_secrets(log, variables)
    assert "abcdef" not in hidden
    assert "longer" not in hidden
    assert "pw@" not in hidden
    assert "PLAIN=visible" in hidden
