import subprocess
from pathlib import Path

import pytest

from runner.adoption.submodules import fetch_submodules, find_missing_submodules
from runner.errors import FaultwatchError


def git(folder: Path, *words: str) -> None:
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *author, "-C", folder, *words], check=True, capture_output=True)


def test_the_message_has_the_first_error_of_git_which_is_the_cause(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    paths = ("deps/one", "deps/two words")
    lines = [f'[submodule "{path}"]\n path = {path}\n url = https://user:word@[::1]:1/{path}\n' for path in paths]
    (tmp_path / ".gitmodules").write_text("".join(lines))
    for path in paths:
        git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{path}")
    assert find_missing_submodules(tmp_path) == paths
    with pytest.raises(FaultwatchError) as failure:
        fetch_submodules(tmp_path)
    assert "unable to access" in failure.value.what
    assert "Failed to connect" in failure.value.what or "Couldn't connect" in failure.value.what
    assert "word@" not in failure.value.what
