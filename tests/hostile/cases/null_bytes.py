"""The workload file puts null bytes where the kernel takes none: into names, variables, arguments and paths."""

from tests.hostile.arena import Arena, Outcome

NULL = '"a\\u0000b"'
KEYS = (
    f"[run]\ncommand = [{NULL}]",
    f'[run]\ncommand = ["true", {NULL}]',
    f'[run]\ncommand = "true"\nenvironment = {{A = {NULL}}}',
    f'[run]\ncommand = "true"\nenvironment = {{{NULL} = "a"}}',
    '[run]\ncommand = "true"\nenvironment = {"A=B" = "a"}',
    f'[run]\ncommand = "true"\noutput = "json"\noutput_file = {NULL}',
    f'[run]\ncommand = "true"\nfiles = [{NULL}]',
    f'[run]\ncommand = "true"\nallocator = {NULL}',
    f'[run]\ncommand = ["true", "{{p}}"]\n[matrix]\np = [{NULL}]',
    f'[run]\ncommand = "true"\n[metrics]\nevents = [{NULL}]',
    '[run]\ncommand = ["\\ud7ff\\uffff\\U0010FFFF"]',
    '[run]\ncommand = [""]',
    "[run]\ncommand = []",
)
BUILDS = (
    f"command = [{NULL}]",
    f'command = "true"\nenvironment = {{A = {NULL}}}',
    f"command = 'true'\nneeds = [{NULL}]",
)


def prepare(arena: Arena) -> None:
    arena.workload(KEYS[0])
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    outcomes = [outcome]
    for text, build in [*((key, "") for key in KEYS[1:]), *(("", build) for build in BUILDS)]:
        arena.workload(text, build=build)
        arena.commit()
        outcomes.append(arena.run("measure", "workload.toml", "--repo", ".", "--sandbox", "--samples", "1"))
    for done in outcomes:
        assert done.status in {1, 2}, done.said
        assert "Traceback" not in done.error, done.error[-2000:]
        assert len(done.error.strip().splitlines()) < 8, done.error
