"""The environment variables of the runner and of the service, as the code that reads them declares them."""

from collections.abc import Callable

from docs.site.reference.markdown import code, table
from runner.variables import VARIABLES, VARIABLES_FOR_PROGRAMS
from service.config.settings_from_environment import Settings


def runner_variables() -> str:
    """Return what the runner reads."""
    rows = ((code(one.name), one.meaning, one.unit, one.default) for one in VARIABLES)
    return table(("variable", "meaning", "value", "default"), rows)


def program_variables() -> str:
    """Return what the runner sets for the program that it measures."""
    return table(("variable", "meaning"), ((code(one.name), one.meaning) for one in VARIABLES_FOR_PROGRAMS))


def service_variables(section: type[Settings]) -> Callable[[], str]:
    """Return a function that returns what the service reads for one purpose."""

    def write() -> str:
        rows = ((code(one.name), one.meaning, one.unit, one.default) for one in section.list_variables())
        return table(("variable", "meaning", "value", "default"), rows)

    return write
