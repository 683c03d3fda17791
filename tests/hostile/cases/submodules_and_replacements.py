"""A cloned repository with submodules that run commands, replaced objects, alternates and its own remote."""

from tests.hostile.arena import Arena, Outcome

WORDS = ("history", "--repo", "file://SUBJECT", "workload.toml", "HEAD~1..HEAD")


def prepare(arena: Arena) -> None:
    run = f"touch {arena.outside}"
    arena.write(
        ".gitmodules",
        f'[submodule "a"]\n\tpath = a\n\turl = ext::{run}/url\n\tupdate = !{run}/update\n'
        f'[submodule "-u{run}/name"]\n\tpath = -x\n\turl = -u{run}/option\n'
        f'[submodule "../../hooks"]\n\tpath = hooks\n\turl = ./\n',
    )
    arena.workload()
    base = arena.git("rev-parse", "HEAD")
    arena.git("update-index", "--add", "--cacheinfo", f"160000,{base},a")
    head = arena.commit()
    arena.git("replace", head, base)
    info = arena.subject / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{arena.work}/other\n")
    for key in ("uploadpack.packObjectsHook", "core.sshCommand", "core.gitProxy", "credential.helper"):
        arena.git("config", key, f"{run}/{key}")


def held(_: Arena, outcome: Outcome) -> None:
    assert outcome.status in {0, 1, 2}, outcome.said
