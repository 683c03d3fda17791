"""Payloads of any shape, from GitLab and Forgejo: what is not as documented has no effect, and nothing crashes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.forges.forgejo.forge import ForgejoForge
from service.forges.gitlab.forge import GitlabForge
from service.forges.note_forge import NoteForge
from service.forges.webhook_actions import decide_actions
from tests.service.forges.test_webhooks_of_forges import comment, merge_request, note, pull_request

SEEDS: list[tuple[type[NoteForge], str, dict[str, Any]]] = [
    (GitlabForge, "Merge Request Hook", merge_request("merge")),
    (GitlabForge, "Note Hook", note("/faultwatch accept me")),
    (ForgejoForge, "pull_request", pull_request("closed")),
    (ForgejoForge, "issue_comment", comment("/faultwatch accept me")),
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(("forge", "event", "payload"), SEEDS, ids=[seed[1] for seed in SEEDS])
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_field_of_any_kind_is_harmless(
    forge: type[NoteForge], event: str, payload: dict[str, Any], data: st.DataObject
) -> None:
    assert decide_actions(forge.events, event, payload), "as it is documented, it has an effect"
    changed = _changed(payload, data)
    for action in decide_actions(forge.events, event, changed):
        assert action.repository.startswith(("gitlab:", "forgejo:"))
        assert ".." not in action.repository.split("/")


def _changed(part: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    name = data.draw(st.sampled_from(sorted(part)))
    inner = part[name]
    if isinstance(inner, dict) and inner and data.draw(st.booleans()):
        return part | {name: _changed(inner, data)}
    if data.draw(st.booleans()):
        return {key: value for key, value in part.items() if key != name}
    return part | {name: data.draw(ANYTHING | st.just("a/../b"))}
