"""Begins sign-ins at the identity provider, and judges its answers: an OpenID Connect client, built on Authlib.

Each sign-in uses the authorization code flow: its code is bound to the browser (state), to this service (PKCE) and to
this sign-in (nonce). There is only one provider, and its metadata must name the issuer of the settings, so that no
other provider can answer in its place.
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
"""The redirect path, to which the provider sends people back. Admins register it with the provider."""
LEEWAY_SECONDS = 60
"""The largest accepted difference between the clocks of the provider and of this machine."""
_NAME = "provider"
_TIMEOUT_SECONDS = 5
_MAX_CALLS = 3
"""Sign-ins of a process that may wait for the provider at a time. A process serves eight requests at a time, and a
provider that hangs must not block all of them."""
_MAX_WAIT_SECONDS = 1
"""How long a sign-in waits until fewer others are waiting for the provider."""
_MAX_SECONDS = 3600
"""The longest sign-in: the provider may ask for a new password, or for a second factor."""
_METADATA_KEYS = {
    "authorization_endpoint",
    "end_session_endpoint",
    "id_token_signing_alg_values_supported",
    "issuer",
    "jwks",  # the fetched keys, which Authlib caches in the metadata
    "jwks_uri",
    "token_endpoint",
    "userinfo_endpoint",
    "_loaded_at",
}
"""The keys of the provider's metadata that are used. Others could weaken sign-ins in Authlib, for example turn PKCE
off."""
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""The accepted signature algorithms, all asymmetric: an ID token that is signed with the client secret, or not signed,
is refused."""


class ProviderClient:
    """The service as a client of the provider."""

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
        """Begin a sign-in for the browser of this request; return the address at the provider to redirect it to.

        Parameters
        ----------
        destination
            The page that the person wants to see after the sign-in.

        Raises
        ------
        ProviderUnavailable
            If the provider's metadata cannot be fetched, or names another issuer.
        """
        callback = f"{self._provider.address}{CALLBACK}"
        with self._calling_provider():
            self._load_metadata()  # Checks the issuer before Authlib uses the metadata.
            sign_in_data = self._client.create_authorization_url(callback)
        # A browser has only one sign-in at a time: Authlib stores the data of each in the cookie, under this prefix.
        for key in [key for key in session if key.startswith(f"_state_{_NAME}_")]:
            session.pop(key)
        self._client.save_authorize_data(redirect_uri=callback, destination=destination, at=time.time(), **sign_in_data)
        return str(sign_in_data["url"])

    def end_sign_in(self) -> tuple[Mapping[str, Any], str]:
        """End the sign-in that the browser of this request began; return the claims about the person, and the page.

        The page is the one that the person wanted to see when the sign-in began.

        Raises
        ------
        SignInNotBegun
            If this browser began no sign-in with this state, or has already ended it.
        SignInRefused
            If the provider refuses the sign-in, or its answer is not genuine, not for this service, or too old.
        ProviderUnavailable
            If the provider cannot be reached, or its answer is not valid.
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
        """Return the provider's metadata, fetched once and reduced to the keys that this service uses.

        Raises
        ------
        ProviderUnavailable
            If the metadata names another issuer.
        """
        metadata: dict[str, Any] = self._client.load_server_metadata()
        if str(metadata.get("issuer")).rstrip("/") != self._provider.issuer:
            metadata.pop("_loaded_at", None)  # so that Authlib fetches it again next time
            raise ProviderUnavailable(
                f"its metadata names another issuer than {self._provider.issuer}: check FAULTWATCH_OIDC_ISSUER"
            )
        for name in metadata.keys() - _METADATA_KEYS:
            metadata.pop(name, None)
        # Every provider has to support RS256 (OpenID Connect Discovery 1.0, section 3).
        offered_algorithms = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        metadata["id_token_signing_alg_values_supported"] = [name for name in _ALGORITHMS if name in offered_algorithms]
        return metadata

    def _verify_answer(self) -> Mapping[str, Any]:
        """Exchange the code of this request for an ID token; return its validated claims and the user info's.

        Raises
        ------
        SignInRefused
            If the answer does not come from the provider, or is not for this service.
        """
        metadata = self._load_metadata()
        # Providers that support RFC 9207 name themselves in the redirect address.
        if request.args.get("iss", metadata["issuer"]) != metadata["issuer"]:
            raise SignInRefused(
                f"the answer comes from another issuer than {metadata['issuer']}: check FAULTWATCH_OIDC_ISSUER"
            )
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
            raise SignInRefused(
                "the answer has no ID token, although the scope openid was requested: check the client at the provider"
            )
        return self._add_further_claims(identity, metadata, token)

    def _add_further_claims(
        self, identity: Mapping[str, Any], metadata: Mapping[str, Any], token: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the claims of the ID token, merged with those of the provider's user info.

        Where both have a claim, the ID token's value is used.
        """
        if not metadata.get("userinfo_endpoint"):
            return identity
        userinfo = self._client.userinfo(token=token)
        if userinfo.get("sub") != identity["sub"]:
            raise SignInRefused("the claims belong to another person")
        return {**userinfo, **identity}

    @contextmanager
    def _calling_provider(self) -> Iterator[None]:
        """Let the block call the provider unless too many calls are waiting; translate the exceptions of failures.

        Raises
        ------
        ProviderUnavailable
            If too many sign-ins are waiting, or the provider cannot be reached, or its answer is not valid.
        SignInRefused
            If the provider refuses the sign-in, or its answer is not genuine.
        """
        if not self._slots.acquire(timeout=_MAX_WAIT_SECONDS):
            raise ProviderUnavailable("too many sign-ins are waiting for it")
        try:
            yield
        except (RequestException, RuntimeError) as error:  # Authlib raises RuntimeError for incomplete metadata.
            raise ProviderUnavailable("it cannot be reached, or failed") from error
        except (AuthlibBaseError, JoseError) as error:
            raise SignInRefused(str(error)) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # Authlib does not check the types of what it reads from an answer.
            raise ProviderUnavailable("its answer is not valid") from error
        finally:
            self._slots.release()
