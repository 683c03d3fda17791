"""Finds the address of a channel, which may be in an environment variable."""

from __future__ import annotations

from collections.abc import Mapping

from service.config.notifications import AddressedChannel
from service.notify.mail import NotSentError


def resolve_address(channel: AddressedChannel, environment: Mapping[str, str]) -> str:
    """Return the address of a channel.

    Raises
    ------
    NotSentError
        If the address is missing or may not be called. The message does not contain it, because it is a secret.
    """
    url = channel.url if channel.url_variable is None else environment.get(channel.url_variable)
    if not url:
        raise NotSentError(f"the address is missing: set the environment variable {channel.url_variable}")
    try:
        return channel.check_url(url)
    except ValueError as error:
        raise NotSentError(f"{channel.variable_or_key}: {error}") from error
