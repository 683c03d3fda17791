"""The environment variables of the runner and of the service, as the code that reads them declares them."""

from collections.abc import Callable

from docs.site.reference.markdown import format_code, format_table
from runner.variables import VARIABLES, VARIABLES_FOR_PROGRAMS
from service.config.settings_from_environment import Settings


def build_runner_table() -> str:
    """Return what the runner reads."""
    rows = ((format_code(one.name), one.meaning, one.unit, one.default) for one in VARIABLES)
    return format_table(("variable", "meaning", "value", "default"), rows)


def build_program_table() -> str:
    """Return what the runner sets for the program that it measures."""
    return format_table(
        ("variable", "meaning"), ((format_code(one.name), one.meaning) for one in VARIABLES_FOR_PROGRAMS)
    )


def make_service_table_builder(section: type[Settings]) -> Callable[[], str]:
    """Return a function that returns what the service reads for one purpose."""

    def build_table() -> str:
        rows = ((format_code(one.name), one.meaning, one.unit, one.default) for one in section.list_variables())
        return format_table(("variable", "meaning", "value", "default"), rows)

    return build_table
