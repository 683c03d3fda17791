"""``faultwatch completion``: print the script with which a shell completes commands, options and workloads."""

import click

from runner.cli.options import apply_options

_PROGRAMS = ("faultwatch", "faultwatch-service")


@click.command(name="completion")
@apply_options(click.argument("shell", type=click.Choice(["bash", "zsh", "fish"])))
def command(shell: str) -> None:
    """Print the completion script for a shell. An installed wheel already has these scripts in share/.

    Bash: `source <(faultwatch completion bash)` in ~/.bashrc. Zsh: the same with zsh, in ~/.zshrc, after compinit.
    Fish: `faultwatch completion fish | source` in config.fish.
    """
    for program in _PROGRAMS:
        click.echo(render_completion_script(program, shell))


def render_completion_script(program: str, shell: str) -> str:
    """Return the script with which a shell requests completions from a program."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the argument allows only shells that click knows
    return kind(click.Command(program), {}, program, f"_{program.replace('-', '_').upper()}_COMPLETE").source()
