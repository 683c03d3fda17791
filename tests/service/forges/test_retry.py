from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.forges.retry import MAX_ATTEMPTS, decide_retry

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "headers", "message", "attempts", "seconds"),
    [
        (500, {}, "", 1, 5),
        (502, {}, "", 3, 20),
        (None, {}, "no answer", 2, 10),
        (503, {"retry-after": "40"}, "", 1, 40),
        (429, {}, "", 1, 60),
        (403, {"retry-after": "7"}, "", 1, 7),
        (403, {}, "You have exceeded a secondary rate limit", 1, 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225700"}, "", 1, 100),
        (403, {"retry-after": "99999999"}, "", 1, 3 * 3600),
        (403, {"retry-after": "9" * 5000}, "", 1, 3 * 3600),
        (403, {}, "Resource not accessible by integration", 1, 5),
        (403, {"retry-after": "7"}, "", MAX_ATTEMPTS, 7),
        (404, {}, "", 1, None),
        (422, {}, "", 1, None),
        (500, {}, "", MAX_ATTEMPTS, None),
    ],
)
def test_when_a_call_is_retried(
    status: int | None, headers: dict[str, str], message: str, attempts: int, seconds: int | None
) -> None:
    retry = decide_retry(status, headers, message, attempts, NOW)
    assert retry.retry_at == (None if seconds is None else NOW + timedelta(seconds=seconds))
