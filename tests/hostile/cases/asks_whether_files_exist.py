"""A workload names files of the host that it cannot see; what the gate says must not depend on whether they exist.

Its build also prints what a build prints that wants a network, so that the gate advises, in its own voice, to show such
a folder or to build outside of the sandbox.
"""

from tests.hostile.arena import Arena, Outcome


def prepare(arena: Arena) -> None:
    (arena.person / ".ssh").chmod(0o755)
    arena.workload()
    arena.commit()


def attack(arena: Arena) -> Outcome:
    there, absent = arena.person / ".ssh", arena.person / ".ssx"

    def tried(place: str) -> list[Outcome]:
        file = f"{place}/id_ed25519"
        build = f'command = ["sh", "-c", "echo Could not resolve host: {place}; exit 1"]\n[build.environment]\n'
        gates = []
        for text in (f'{build}FOO = "{place}"', f'{build}CARGO_HOME = "{place}"\nPATH = "/usr/bin:{place}"'):
            arena.workload(build=text)
            arena.commit()
            gates.append(arena.run("gate", "workload.toml", "HEAD~1..HEAD", "--repo", "."))
        arena.workload(f'[run]\ncommand = ["{file}"]')
        arena.commit()
        gates.append(arena.run("gate", "workload.toml", "HEAD~1..HEAD", "--repo", "."))
        (arena.subject / "program").unlink(missing_ok=True)
        arena.link("program", file)
        arena.workload('[run]\ncommand = ["./program"]')
        arena.commit()
        gates.append(arena.run("gate", "workload.toml", "HEAD~1..HEAD", "--repo", "."))
        return gates

    def told(outcome: Outcome, place: str) -> list[str]:
        lines = outcome.said.replace(place, "PLACE").splitlines()
        return [line for line in lines if "→" not in line]  # the commits

    for one, other in zip(tried(str(there)), tried(str(absent)), strict=True):
        assert told(one, str(there)) == told(other, str(absent))
        for line in told(one, str(there)):
            assert "outside of the sandbox" not in line
            assert "SANDBOX_READ" not in line
    return one
