"""The environments that `faultwatch env` compares."""

from pathlib import Path

import pytest

from runner.cli.env import load_environment
from runner.errors import FaultwatchError


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{}", '{"settings": 1}', "9" * 5000])
def test_a_file_without_an_environment_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    with pytest.raises(FaultwatchError, match="contains no environment"):
        load_environment(str(file))
