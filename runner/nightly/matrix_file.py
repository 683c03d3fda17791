"""Reads ``matrix.toml`` strictly; docs/how-to/nightly.md explains each key."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from runner.contract.base import Name, Parameter
from runner.errors import FaultwatchError
from runner.process_state.huge_pages import CHOICES
from runner.workload.allocators import ALLOCATOR_VARIABLES
from runner.workload.definition import Variables
from runner.workload.strict_toml import Table, describe_first_mistake, read_toml

PLAIN_CONFIGURATION = "plain"
"""The only configuration of a matrix file that names none: it has the settings of the workload file."""
_THIS_HOST = "here"
"""Stands for the only host of a matrix file that names none: the host that reads the file."""
Size = Annotated[str, StringConstraints(pattern=r"^(none|[1-9][0-9]{0,14}[KMG]?)$")]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]


class MatrixHost(Table):
    """``[hosts.NAME]``: a machine, with the name that its reports have."""

    labels: tuple[Label, ...] = Field(default=(), max_length=20)
    """Labels of the host's GitHub Actions runner; by default ``self-hosted`` and the name of the host."""


class Configuration(Table):
    """``[configurations.NAME]``: settings in addition to those of the workload file."""

    allocator: str | None = None
    """Name of the allocator that is preloaded."""
    huge_pages: str | None = None
    """Which memory gets transparent huge pages."""
    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Value of ``OMP_NUM_THREADS``, or of the workload's parameter ``threads``."""
    processes: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Number of processes that run the command at once."""
    memory_limit: Size | None = None
    """Bytes that the processes may use together, with K, M or G; or none."""
    environment: Variables = Field(default_factory=dict)
    """Variables of the measured process."""

    @field_validator("allocator")
    @classmethod
    def _check_allocator(cls, name: str | None) -> str | None:
        return _require_choice(name, tuple(ALLOCATOR_VARIABLES))

    @field_validator("huge_pages")
    @classmethod
    def _check_policy(cls, name: str | None) -> str | None:
        return _require_choice(name, tuple(CHOICES))


class WorkloadEntry(Table):
    """``[[workloads]]``: a workload and the repository that it measures."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    """The file or folder of the workload, relative to the matrix file, or the name of a shipped workload."""
    repository: str | None = None
    """Path or address of the repository; by default the repository that contains the workload."""
    revision: str = "HEAD"
    """The commit to measure."""
    set: dict[Name, Parameter | tuple[Parameter, ...]] = Field(default_factory=dict)
    """Values of the workload's parameters, by name: one value, or several."""
    hosts: tuple[Name, ...] | None = None
    """The hosts that measure the workload; by default all."""
    configurations: tuple[Name, ...] | None = None
    """The configurations in which the workload is measured; by default all."""


class Matrix(Table):
    """A matrix file."""

    retries: Annotated[int, Field(ge=0, le=10)] = 1
    """Number of times that the failed cases of a cell are measured again."""
    hosts: dict[Name, MatrixHost] = Field(default_factory=dict)
    """Machines by name; by default the machine that reads the file."""
    configurations: dict[Name, Configuration] = Field(default_factory=dict)
    """Configurations by name; by default only the settings of the workload files."""
    workloads: tuple[WorkloadEntry, ...] = Field(min_length=1)
    """The workloads to measure."""
    path: Path = Field(default=Path(), exclude=True)
    """The path of the file."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Check that each workload names only hosts and configurations of the matrix."""
        for entry in self.workloads:
            for kind, names, known_names in (
                ("host", entry.hosts, self.host_names),
                ("configuration", entry.configurations, self.configuration_names),
            ):
                unknown_names = [name for name in names or () if name not in known_names]
                if unknown_names:
                    raise ValueError(f"workload {entry.path}: there is no {kind} {unknown_names[0]!r}")
        return self

    @property
    def host_names(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(self.hosts) or (_THIS_HOST,)

    @property
    def configuration_names(self) -> tuple[str, ...]:
        """Names of the configurations."""
        return tuple(self.configurations) or (PLAIN_CONFIGURATION,)

    def get_configuration(self, name: str) -> Configuration:
        """Return a configuration by name; one without settings if the matrix does not name it."""
        return self.configurations.get(name, Configuration())


def load_matrix(file: Path) -> Matrix:
    """Read a matrix.

    Raises
    ------
    FaultwatchError
        The file is not valid; the message names the file, the key and the mistake.
    """
    document = read_toml(
        file, "matrix file", "pass a file with --matrix; the guide “Nightly runs” shows how to write such a file"
    )
    try:
        return Matrix.model_validate(document | {"path": file.resolve()})
    except ValidationError as error:
        raise FaultwatchError(f"{file}: {describe_first_mistake(error, Matrix)}") from None


def _require_choice(name: str | None, choices: tuple[str, ...]) -> str | None:
    """Return the name; raise if it is neither None nor one of the choices."""
    if name is not None and name not in choices:
        raise ValueError(f"{name!r} is not one of {', '.join(choices)}")
    return name
