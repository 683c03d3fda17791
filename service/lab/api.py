"""The API of settings labs: one case at one commit, under combinations of settings."""

from __future__ import annotations

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field

from service.lab import lab_address
from service.lab.lab_address import LabAddress
from service.lab.read_lab import LabProblem
from service.lab.schemas import SettingsLab
from service.web.app_resources import get_database
from service.web.problems import make_field_problem, make_not_found

bp = APIBlueprint("settings_lab", __name__)


class LabArguments(BaseModel):
    """The case, the commit and the settings. Each one that is left out defaults to the last measured one."""

    model_config = ConfigDict(extra="forbid")

    subject: str = Field(default="", max_length=100)
    case: str = Field(default="", max_length=1000)
    host: str = Field(default="", max_length=100)
    commit: str = Field(
        default="", max_length=200, description="A tag, a branch, a date or the first digits of a hash."
    )
    rows: str = Field(
        default="", max_length=400, description="Names of the settings to use as rows, separated by spaces."
    )
    columns: str = Field(
        default="", max_length=400, description="Names of the settings to use as columns, separated by spaces."
    )
    set: str = Field(
        default="",
        max_length=8000,
        description="The values to measure, as `NAME=VALUE`, separated by `|`: "
        "`allocator=jemalloc|process.huge_pages=never|variable.MALLOC_ARENA_MAX=1`.",
    )
    environment: str = Field(default="", max_length=16, description="Hash of the default cell's environment.")
    pairs: str = Field(
        default="", max_length=4, description="The number of pairs of executions to measure for each cell."
    )


@bp.get("/settings-lab")
@bp.input(LabArguments, location="query")
@bp.output(SettingsLab)
def get(query_data: LabArguments) -> SettingsLab:
    """Return a case at one commit under combinations of settings. Order an empty cell by its `question`."""
    with get_database().reading() as session:
        try:
            lab = lab_address.read_lab_at(session, LabAddress.from_query(query_data.model_dump()))
        except LabProblem as problem:
            raise make_field_problem(problem.field, str(problem)) from None
    if lab is None:
        raise make_not_found("run of this case whose settings could be compared")
    return lab
