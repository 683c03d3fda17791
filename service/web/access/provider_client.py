"""Speaks to the identity provider at which people sign in, by OpenID Connect; Authlib does what is cryptographic.

Each person signs in with a code, bound to the browser that began (state), to this service (PKCE) and to this sign-in
(nonce). There is one provider, whose description must name the issuer of the settings, so none can answer for another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.flask_client import FlaskOAuth2App, OAuth
from flask import Flask, request, session
from joserfc.errors import JoseError
from requests import RequestException

from service.config.identity_provider import IdentityProvider
from service.web.access.provider_errors import ProviderUnavailable, SignInNotBegun, SignInRefused

CALLBACK = "/sign-in/provider/callback"
"""Where the provider sends people back, registered there below the address of this service."""
LEEWAY_SECONDS = 60
"""By how much the clocks of the provider and of this machine may differ."""
_NAME = "provider"
_TIMEOUT_SECONDS = 5
_MAX_CALLS = 3
"""People who wait for the provider at a time, in a process that serves eight requests: it may hang."""
_MAX_WAIT_SECONDS = 1
_MAX_SECONDS = 3600
"""For how long a sign-in may last: the provider may ask for a new password, or for a second factor."""
_METADATA_KEYS = {
    "authorization_endpoint",
    "end_session_endpoint",
    "id_token_signing_alg_values_supported",
    "issuer",
    "jwks",  # which Authlib keeps there
    "jwks_uri",
    "token_endpoint",
    "userinfo_endpoint",
    "_loaded_at",
}
"""The keys of the provider's metadata that are used. Others could change sign-ins in Authlib, such as turn PKCE off."""
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""The accepted algorithms, all of key pairs: an identity signed with the client secret, or not at all, is refused."""


class ProviderClient:
    """The client of the provider: this service, as the provider knows it."""

    def __init__(self, app: Flask, provider: IdentityProvider) -> None:
        self._provider = provider
        self._slots = threading.BoundedSemaphore(_MAX_CALLS)
        self._client: FlaskOAuth2App = OAuth(app).register(
            _NAME,
            client_id=provider.client,
            client_secret=provider.secret,
            server_metadata_url=f"{provider.issuer}/.well-known/openid-configuration",
            client_kwargs={
                "scope": provider.requested_scopes,
                "code_challenge_method": "S256",
                "default_timeout": _TIMEOUT_SECONDS,
            },
        )

    def begin_sign_in(self, destination: str) -> str:
        """Begin a sign-in in the browser of this request; return the provider's address for it.

        Parameters
        ----------
        destination
            The page that the person wants to see after it.

        Raises
        ------
        ProviderUnavailable
            If the provider does not describe itself.
        """
        callback = f"{self._provider.address}{CALLBACK}"
        with self._calling_provider():
            self._load_metadata()  # Checks the issuer, before Authlib uses the metadata.
            sign_in_data = self._client.create_authorization_url(callback)
        # A browser has only one sign-in at a time: the data of each takes room in the cookie.
        for key in [key for key in session if key.startswith(f"_state_{_NAME}_")]:
            session.pop(key)
        self._client.save_authorize_data(redirect_uri=callback, destination=destination, at=time.time(), **sign_in_data)
        return str(sign_in_data["url"])

    def end_sign_in(self) -> tuple[Mapping[str, Any], str]:
        """End the sign-in that the browser of this request began; return what is claimed of the person, and the page.

        Raises
        ------
        SignInNotBegun
            If this browser began no sign-in of this state, or has ended it.
        SignInRefused
            If the provider refuses it, or its answer is not genuine, not for this service, or too old.
        ProviderUnavailable
            If the provider cannot be asked.
        """
        state = request.args.get("state")
        sign_in_data = self._client.framework.get_state_data(session, state)
        if not sign_in_data or sign_in_data["at"] < time.time() - _MAX_SECONDS:
            raise SignInNotBegun
        try:
            with self._calling_provider():
                return self._verify_answer(), str(sign_in_data["destination"])
        finally:
            self._client.framework.clear_state_data(session, state)

    def build_sign_out_address(self) -> str | None:
        """Return the provider's address to sign out there; None if it offers none or cannot be reached."""
        try:
            with self._calling_provider():
                if not self._load_metadata().get("end_session_endpoint"):
                    return None
                return_address = f"{self._provider.address}/sign-in"
                address = self._client.create_logout_url(return_address, client_id=self._provider.client)["url"]
        except (ProviderUnavailable, SignInRefused):
            return None
        return str(address)

    def _load_metadata(self) -> Mapping[str, Any]:
        """Return the provider's description of itself, which is fetched once, reduced to what this service uses.

        Raises
        ------
        ProviderUnavailable
            If it describes another issuer.
        """
        metadata: dict[str, Any] = self._client.load_server_metadata()
        if str(metadata.get("issuer")).rstrip("/") != self._provider.issuer:
            metadata.pop("_loaded_at", None)  # ask again next time
            raise ProviderUnavailable("its metadata names another issuer")
        for name in metadata.keys() - _METADATA_KEYS:
            metadata.pop(name, None)
        # Every provider has to support RS256 (OpenID Connect Discovery 1.0, section 3).
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        metadata["id_token_signing_alg_values_supported"] = [name for name in _ALGORITHMS if name in offered]
        return metadata

    def _verify_answer(self) -> Mapping[str, Any]:
        """Exchange the code of this request for an ID token; return its validated claims, and those of the user info.

        Raises
        ------
        SignInRefused
            If the answer is not the provider's, or not for this service.
        """
        metadata = self._load_metadata()
        # Providers that support RFC 9207 name themselves in the address to which they send the browser back.
        if request.args.get("iss", metadata["issuer"]) != metadata["issuer"]:
            raise SignInRefused("the answer comes from another issuer")
        token = self._client.authorize_access_token(
            leeway=LEEWAY_SECONDS,
            claims_options={
                "iss": {"essential": True, "value": metadata["issuer"]},
                "aud": {"essential": True, "value": self._provider.client},
                "sub": {"essential": True},
            },
        )
        identity = token.get("userinfo")
        if not identity:
            raise SignInRefused("the answer has no ID token")
        return self._add_further_claims(identity, metadata, token)

    def _add_further_claims(
        self, identity: Mapping[str, Any], metadata: Mapping[str, Any], token: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the claims of the ID token together with those of the provider's user info.

        A claim that both have is that of the ID token.
        """
        if not metadata.get("userinfo_endpoint"):
            return identity
        userinfo = self._client.userinfo(token=token)
        if userinfo.get("sub") != identity["sub"]:
            raise SignInRefused("the claims belong to another person")
        return {**userinfo, **identity}

    @contextmanager
    def _calling_provider(self) -> Iterator[None]:
        """Call the provider unless too many callers wait for it already, and explain its failures."""
        if not self._slots.acquire(timeout=_MAX_WAIT_SECONDS):
            raise ProviderUnavailable("too many sign-ins are waiting for it")
        try:
            yield
        except (RequestException, RuntimeError) as error:
            raise ProviderUnavailable("it cannot be reached, or failed") from error
        except (AuthlibBaseError, JoseError) as error:
            raise SignInRefused(str(error)) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # Authlib does not check the types of what it reads from an answer.
            raise ProviderUnavailable("its answer is not valid") from error
        finally:
            self._slots.release()
