from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from service.forges.github.webhook_events import EVENTS, list_actions

_KEYS = st.sampled_from(["action", "comment", "issue", "pull_request", "body", "repository", "check_run", "label"])
_JSON = st.recursive(
    st.none() | st.integers() | st.just("created"), lambda inner: st.dictionaries(_KEYS, inner), max_leaves=6
)


@settings(max_examples=50)
@given(st.sampled_from(sorted(EVENTS)), st.dictionaries(_KEYS, _JSON))
def test_no_payload_is_too_strange(event: str, payload: dict[str, object]) -> None:
    assert isinstance(list_actions(event, payload), tuple)
