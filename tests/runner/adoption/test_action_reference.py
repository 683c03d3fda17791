import json

import pytest

from runner.adoption.action_reference import PLACEHOLDER, read_action

COMMIT = "8f43101cce8c15f4f014ed7528e21a36a0d1cb79"


def direct_url(url: str, commit: str = COMMIT) -> str:
    return json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": commit, "requested_revision": "main"}})


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/example/fw.git",
        "https://github.com/example/fw",
        "https://token@github.com/example/fw/",
        "ssh://git@github.com/example/fw.git",
    ],
)
def test_the_repository_of_the_installation_is_the_action_at_its_commit(url: str) -> None:
    assert read_action(direct_url(url)) == f"example/fw@{COMMIT}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"url": "file:///srv/faultwatch", "dir_info": {"editable": true}}',
        direct_url("https://gitlab.com/example/fw"),
        direct_url("https://github.com.example.org/example/fw"),
        direct_url("https://github.com/example/fw@v1\n      - run: id #"),
        direct_url("https://github.com/example/fw", "main"),
    ],
)
def test_where_no_repository_on_github_is_known_a_placeholder_stands(text: str) -> None:
    assert read_action(text) == PLACEHOLDER
