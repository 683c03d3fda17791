"""``faultwatch workloads``: list the shipped workloads and their cases."""

import click

from runner.cli import completers
from runner.cli.options import apply_options, json_option
from runner.cli.result_output import print_json
from runner.workload.workload_lookup import SHIPPED_WORKLOADS, find_workload, list_shipped_names


@click.command(name="workloads")
@apply_options(
    click.argument("names", nargs=-1, metavar="[WORKLOAD]...", shell_complete=completers.complete_workload), json_option
)
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List workloads and their cases: the shipped ones, or those named by path."""
    from runner.workload import list_cases, load_workload

    workloads = [find_workload(name) for name in names] or [
        load_workload(SHIPPED_WORKLOADS / name) for name in list_shipped_names()
    ]
    if as_json:
        document = [
            {
                "name": workload.name,
                "description": workload.workload.description,
                "path": str(workload.path),
                "definition": workload.definition,
                "cases": [case.name for case in list_cases(workload)],
            }
            for workload in workloads
        ]
        print_json(document)
        return
    from runner.cli.console import make_console
    from runner.cli.formatting import escape_text as escape

    console = make_console()
    for workload in workloads:
        console.print(f"[bold]{escape(workload.name)}[/]  {escape(workload.workload.description)}", soft_wrap=True)
        for case in list_cases(workload):
            console.print(f"  {escape(case.name)}", highlight=False, soft_wrap=True)
