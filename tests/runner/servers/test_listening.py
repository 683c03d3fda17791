"""Listeners as the kernel lists them."""

import os
import socket
from pathlib import Path

from runner.servers.listening import Listener, find_listeners, is_port_open, is_socket_open

OWN = os.getpid()


def test_a_port_is_open_from_listen_on() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert not is_port_open(OWN, port)
        listener.listen()
        assert is_port_open(OWN, port)
    assert not is_port_open(OWN, port)


def test_a_port_of_ipv6_counts() -> None:
    with socket.socket(socket.AF_INET6) as listener:
        listener.bind(("::1", 0))
        listener.listen()
        assert is_port_open(OWN, listener.getsockname()[1])


def test_a_socket_is_open_from_listen_on(tmp_path: Path) -> None:
    path = str(tmp_path / "a socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        assert not is_socket_open(OWN, path)
        listener.listen()
        assert is_socket_open(OWN, path)
        assert not is_socket_open(OWN, path[:-1])


def test_a_process_that_has_ended_listens_nowhere() -> None:
    assert not is_port_open(2**22, 80)
    assert not is_socket_open(2**22, "/tmp/server.sock")


def test_all_listeners_of_a_process_are_found(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket() as listener, socket.socket(socket.AF_UNIX) as local, socket.socket() as other:
        for place, address in ((listener, ("127.0.0.1", 0)), (local, path), (other, ("127.0.0.1", 0))):
            place.bind(address)
        listener.listen()
        local.listen()
        port = listener.getsockname()[1]
        listeners = find_listeners([OWN])
        assert Listener(port=port) in listeners
        assert Listener(path=path) in listeners
        assert other.getsockname()[1] not in {listener.port for listener in listeners}
        assert listeners[-1].path, "ports come first"
        assert [Listener(port=port).description, Listener(path="/s").description] == [f"port {port}", "the socket /s"]
        child = os.fork()
        if not child:
            os.closerange(3, 1000)
            os._exit(bool({Listener(port=port), Listener(path=path)} & set(find_listeners([os.getpid()]))))
        assert os.waitpid(child, 0)[1] == 0, "the listeners of other processes are not its own"


def test_no_process_listens_nowhere() -> None:
    assert find_listeners([]) == []
    assert find_listeners([2**22]) == []


def test_the_rest_of_a_name_after_a_line_feed_is_no_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0name\n0: 2 0 flags 1 1 9 {tmp_path}")
        listener.listen()
        assert not is_socket_open(OWN, str(tmp_path))
        assert Listener(path="@name") in find_listeners([OWN])
