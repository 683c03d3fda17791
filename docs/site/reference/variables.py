"""The environment variables of the runner and of the service, from the tables through which they are read."""

from collections.abc import Callable

from docs.site.reference.markdown import code, table
from runner.variables import FOR_PROGRAMS, TABLE
from service.config.variables import Group
from service.config.variables import table as of_service


def runner_variables() -> str:
    """Return what the runner reads."""
    rows = ((code(one.name), one.meaning, one.unit, one.default) for one in TABLE)
    return table(("variable", "meaning", "value", "default"), rows)


def program_variables() -> str:
    """Return what the runner sets for the program that it measures."""
    return table(("variable", "meaning"), ((code(one.name), one.meaning) for one in FOR_PROGRAMS))


def service_variables(group: Group) -> Callable[[], str]:
    """Return a function that returns what the service reads for one purpose."""

    def write() -> str:
        rows = ((code(one.name), one.meaning, one.unit, one.default) for one in of_service() if one.group is group)
        return table(("variable", "meaning", "value", "default"), rows)

    return write
