"""Click options that several commands share, so that the same option has the same name and description everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from runner.cli import completers
from runner.cli.output_files import require_writable

repo_option = click.option(
    "--repo",
    metavar="PATH|URL",
    shell_complete=completers.complete_folder,
    help="The repository under test. Default: the one that contains the workload.",
)
set_option = click.option(
    "--set",
    "parameter_choices",
    multiple=True,
    metavar="NAME=VALUE[,VALUE…]",
    help="Choose only the cases whose parameter NAME has one of these values. Repeatable.",
)
case_option = click.option(
    "--case",
    "case_names",
    multiple=True,
    metavar="NAME",
    shell_complete=completers.complete_case,
    help="Choose a case by its name, as the dashboard shows it. Repeatable.",
)
env_option = click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add a variable to the environment of the measured process. Repeatable.",
)


def make_samples_option(default: str) -> Callable[[Any], Any]:
    """Return the option that sets the number of samples; ``default`` says in its help what decides without it."""
    return click.option(
        "--samples",
        type=click.IntRange(1, 1000),
        metavar="N",
        help=f"Number of executions or pairs to measure. Default: {default}.",
    )


samples_option = make_samples_option("as many as it takes to be certain, up to max_samples")
again_option = click.option(
    "--again", "retry_failed", is_flag=True, help="Also retry revisions that failed or were skipped earlier."
)


def explain_option(*, default: bool) -> Callable[[Any], Any]:
    """Return the option with which a command explains why a case got worse."""
    return click.option(
        "--explain/--no-explain",
        default=default,
        show_default=True,
        envvar="FAULTWATCH_EXPLAIN",
        help="Explain why a case got worse, by profiling both sides and measuring remedies; takes about as long as the "
        "comparison.",
    )


committed_only_option = click.option(
    "--committed-only", is_flag=True, help="Ignore uncommitted changes in the work tree."
)


def _check_writable(_context: click.Context, _option: click.Parameter, file: Path | None) -> Path | None:
    """Refuse a file that cannot be written, before anything is measured; return the file, or None if none is named."""
    require_writable({"output": file})
    return file


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
output_option = click.option(
    "--output",
    "output_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_check_writable,
    help="Also write the --json output to a file; in GitHub Actions its path becomes a step output.",
)
reason_option = click.option(
    "--reason", default="", metavar="TEXT", help="The reason for the decision; it is stored with the decision."
)


def make_sandbox_option(default: str = "only if the repository is given as a URL") -> Callable[[Any], Any]:
    """Return the option that confines code to a sandbox; ``default`` says in its help when this is the default."""
    return click.option(
        "--sandbox/--no-sandbox",
        "sandboxed",
        default=None,
        help=f"Build and run in a sandbox, as untrusted code requires. Default: {default}.",
    )


def make_revision_option(help_text: str = "The commit to measure.") -> Callable[[Any], Any]:
    """Return the option that names one commit."""
    return click.option(
        "--revision",
        default="HEAD",
        show_default=True,
        metavar="REV",
        shell_complete=completers.complete_revision,
        help=help_text,
    )


def apply_options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that applies several click options, in the order in which --help lists them."""

    def apply(function: Any) -> Any:
        # click lists first the option that is applied last.
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


result_options = apply_options(json_option, output_option)
choice_options = apply_options(set_option, case_option)
