"""Posts letters to a chat's incoming webhook."""

from __future__ import annotations

from collections.abc import Mapping

import requests

from service.config.notifications import WebhookChannel
from service.notify.mail import NotSentError
from service.notify.message import Letter, for_slack

TIMEOUT = (5, 20)
"""Seconds to connect, and to wait for each part of the answer."""


def send(letter: Letter, channel: WebhookChannel, environment: Mapping[str, str]) -> None:
    """Post a letter. It has the same key whenever it is sent, so that a receiver can drop a second copy.

    Redirects are not followed: who answers at the address has no say in which other hosts the service calls.

    Raises
    ------
    NotSentError
        Where the receiver does not take it. The address is not told: it is a secret.
    """
    try:
        with requests.post(
            _address(channel, environment),
            json=for_slack(letter),
            headers={"Idempotency-Key": letter.key},
            allow_redirects=False,
            timeout=TIMEOUT,
            stream=True,
        ) as response:
            status = response.status_code
    except requests.RequestException as error:
        raise NotSentError(f"the receiver does not answer ({type(error).__name__})") from error
    if not 200 <= status < 300:
        raise NotSentError(
            f"the receiver answered {status}{' (redirects are not followed)' if status // 100 == 3 else ''}"
        )


def _address(channel: WebhookChannel, environment: Mapping[str, str]) -> str:
    url = channel.url if channel.url_variable is None else environment.get(channel.url_variable)
    if not url:
        raise NotSentError(f"the address is missing: set the environment variable {channel.url_variable}")
    try:
        return channel.check(url)
    except ValueError as error:
        raise NotSentError(f"{channel.url_variable or 'url'}: {error}") from error
