"""Binds the commands of a workload's server and of its load to one start: its case, port, socket and data folder."""

from msgspec import Struct

from runner.contract.base import Parameter
from runner.contract.report import Case
from runner.workload.definition import Workload
from runner.workload.placeholders import fill_placeholders
from runner.workload.workload_folder import get_folder_value, provide_own_folder


class ServerResources(Struct, frozen=True):
    """What the runner provides for a server and its load. By default, the placeholders themselves, for human readers.

    Attributes
    ----------
    port
        A free port.
    socket
        The path of a socket.
    data
        The path of a folder that is new at each start.
    """

    port: str = "{port}"
    socket: str = "{socket}"
    data: str = "{data}"


class BoundServer(Struct, frozen=True):
    """The commands of ``[server]`` and ``[load]`` for one start; a command that the workload lacks is empty."""

    command: tuple[str, ...]
    ready_command: tuple[str, ...]
    stop_command: tuple[str, ...]
    fill: tuple[str, ...]
    load: tuple[str, ...]


def bind_server(workload: Workload, case: Case, resources: ServerResources) -> BoundServer:
    """Fill the commands of a workload with a ``[server]`` for one start.

    Raises
    ------
    FaultwatchError
        A placeholder has no value.
    """
    server, load = workload.server, workload.load
    assert server is not None
    assert load is not None
    server_values: dict[str, Parameter] = {"port": resources.port, "socket": resources.socket, "data": resources.data}
    values = case.parameters | server_values | get_folder_value(provide_own_folder(workload))

    def fill_command(command: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(fill_placeholders(text, values, location=str(workload.path)) for text in command or ())

    return BoundServer(
        command=fill_command(server.command),
        ready_command=fill_command(server.ready_command),
        stop_command=fill_command(server.stop_command),
        fill=fill_command(load.fill),
        load=fill_command(load.command),
    )
