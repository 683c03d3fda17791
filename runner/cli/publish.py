"""``faultwatch publish``: write the pages of a run store as static files."""

import subprocess
from pathlib import Path

import click

from runner.cli.options import apply_options, repo_option
from runner.cli.stored_history import send_whole_store
from runner.cli.terminal import get_console, print_warning
from runner.errors import FaultwatchError
from runner.execution.own_command import SAFE_DIRECTORY, build_module_command, build_own_environment
from runner.reporting.embedded_service import build_own_database, connect_to_service
from runner.run_store.store import open_store
from runner.settings import Settings, load_settings
from runner.subject.repository import Repository, open_repository
from runner.system.home_folder import expand_home
from runner.system.scratch import make_scratch_folder


@click.command(name="publish")
@apply_options(
    click.argument("store_location", metavar="FOLDER|branch:NAME"),
    click.option(
        "--to",
        "site",
        type=click.Path(path_type=Path),
        required=True,
        metavar="SITE",
        help="The folder to write to: a new or empty one, or an earlier site, which is replaced.",
    ),
    click.option(
        "--with-details",
        is_flag=True,
        help="Also show the values of settings and the messages of failed builds. By default, the site shows only "
        "what a service with FAULTWATCH_ANONYMOUS_READ lets everybody see.",
    ),
    repo_option,
)
def command(store_location: str, site: Path, with_details: bool, repo: str | None) -> None:
    """Write the inbox, the drift map, the events and the charts of a store's runs as static files into SITE.

    `faultwatch history --store` fills the store. The files work from a disk and on any web server, such as GitHub
    Pages.
    """
    settings = load_settings()
    site = expand_home(site).absolute()
    if not site.parent.is_dir():
        raise FaultwatchError(f"--to: {site.parent} is not a folder", "choose a folder whose parent folder exists")
    store = open_store(store_location, _find_repository(settings, repo), print_warning, may_be_new=False)
    with make_scratch_folder() as home:
        with connect_to_service(settings, home) as service:
            if not send_whole_store(store, service):
                raise FaultwatchError(
                    f"{store.files.description} has no runs", "run `faultwatch history --store` first"
                )
        _run_service(home, site, with_details=with_details)


def _find_repository(settings: Settings, repo: str | None) -> Repository | None:
    """Return the named repository; without a name, that of the current folder, or None if there is none.

    Raises
    ------
    FaultwatchError
        The named repository cannot be opened.
    """
    try:
        return open_repository(repo or ".", settings.clones, explicit=repo is not None)
    except FaultwatchError:
        if repo is not None:
            raise
        return None


def _run_service(home: Path, site: Path, *, with_details: bool) -> None:
    """Let the service write the pages of its database. If it fails, it has printed why; exit with its status."""
    arguments = ["--to", str(site)]
    if with_details:
        arguments.append("--with-details")
    if get_console().quiet:
        arguments.append("--quiet")
    status = subprocess.run(
        build_module_command("service", "publish", *arguments),
        env=build_own_environment() | build_own_database(home),
        cwd=SAFE_DIRECTORY,
        check=False,
    ).returncode
    if status:
        raise click.exceptions.Exit(status)
