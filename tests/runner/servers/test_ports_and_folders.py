"""What a server gets for one start."""

import random
import socket

import pytest

from runner.servers.ports_and_folders import _find_free_port


@pytest.mark.parametrize("address", ["::1", "127.0.0.2"])
def test_a_port_on_which_another_program_listens_at_any_address_is_not_free(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as listener, socket.socket() as spare:
        listener.bind((address, 0))
        listener.listen()
        spare.bind(("127.0.0.1", 0))
        taken, free = listener.getsockname()[1], spare.getsockname()[1]
        spare.close()
        ports = iter((taken, free))
        monkeypatch.setattr(random, "choice", lambda _: next(ports))
        assert _find_free_port() == free
