import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.cli.nightly_markdown import escape_markdown, render_digest
from runner.contract.nightly import CaseState, CellDigest, NightlyCase, NightlyDigest


@given(st.text())
def test_strangers_text_holds_no_sign_of_markdown(said: str) -> None:
    shown = escape_markdown(said)
    assert not re.search(r"[<>|`*_\[\]@\\~:/.!\n]", shown)
    read = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), shown)
    assert read == " ".join(said.split())


@pytest.mark.parametrize("reason", ["*" * 2000, "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 2000])
def test_a_summary_is_not_larger_than_github_accepts(reason: str) -> None:
    case = NightlyCase(name="copy", state=CaseState.FAILED, reason=reason)
    cell = CellDigest(
        host="box",
        configuration="plain",
        workload="copy",
        carried_out=True,
        problem="",
        attempts=1,
        cases=(case,) * 600,
    )
    shown = render_digest(
        NightlyDigest(
            name="tonight",
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            complete=False,
            sentence="600 cases failed.",
            absent_hosts=(),
            cells=(cell,),
            drifts=(),
        )
    )
    assert 100_000 < len(shown.encode()) < 2**20
    rows = shown.count("| box |")
    assert f"… and {600 - rows} more." in shown
