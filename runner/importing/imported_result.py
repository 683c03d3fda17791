"""The values of one metric of one case, which the parsers of formats return."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from runner.contract.imported_metric import Better
from runner.contract.report import Case, hash_document, make_safe_name

_MAX_PARAMETERS, _MAX_PARAMETER_CHARACTERS = 100, 200
"""How many of a file's parameters and how much of each text is kept: a file can contain any number and length."""


class Result(Struct, frozen=True):
    """The values of one metric of one case.

    Attributes
    ----------
    metric
        The tool's name of the metric, or its name in the catalogue.
    unit
        The unit of the values.
    better
        Which direction is an improvement; None if the file does not say, so that the metric is stored but not judged.
    values
        The values in the order in which they were measured.
    revision, time, host, subject
        The value in the file; empty or None if the file has none.
    settings
        Facts about the environment that the file contains, if they stay the same between runs.
    in_catalogue
        Whether the metric is one of the catalogue, and has its unit.
    """

    case: Case
    metric: str
    unit: str
    better: Better | None
    values: tuple[float, ...]
    revision: str = ""
    time: datetime | None = None
    host: str = ""
    subject: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    in_catalogue: bool = False


def make_case(name: str, parameters: Mapping[str, object] | None = None, identity: str = "") -> Case:
    """Create the case of a benchmark.

    Parameters
    ----------
    identity
        What distinguishes the benchmark from others of the same name, such as its package. Cases with different
        identities never share a series.
    """
    parameter_texts = {
        make_safe_name(key): " ".join(str(value).split())[:_MAX_PARAMETER_CHARACTERS]
        for key, value in (parameters or {}).items()
    }
    # JSON can contain half of a surrogate pair, which cannot be hashed.
    hashable_identity = (identity or name).encode(errors="replace").decode()
    return Case(
        workload=make_safe_name(name),
        definition=hash_document({"imported": hashable_identity}),
        parameters=dict(list(parameter_texts.items())[:_MAX_PARAMETERS]),
    )
