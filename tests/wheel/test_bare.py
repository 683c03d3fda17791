"""The runner alone: it says how to get the service where it is needed."""

import pytest

from tests.wheel.installation import Installation

SERVICE = {"alembic", "flask", "gunicorn", "numpy", "sqlalchemy"}


def test_the_packages_of_the_service_are_not_installed(bare: Installation) -> None:
    assert not SERVICE & {place.name for place in bare.site.iterdir()}


@pytest.mark.parametrize("words", [("serve",), ("token", "list")], ids=lambda words: words[0])
def test_a_service_command_says_in_one_line_how_to_get_the_service(bare: Installation, words: tuple[str, ...]) -> None:
    done = bare.run("faultwatch-service", *words)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "is not installed" in line
    assert "pip install 'faultwatch[service]'" in line
