"""Attributes send every file through a filter that is configured on the runner, as Git LFS is."""

from tests.hostile.arena import Arena

THOROUGH = True


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.write(".gitattributes", "* filter=lfs\n*.c filter=helper\n")
    arena.write("evil.c", "version https://git-lfs.github.com/spec/v1\n")
    arena.commit()
    for name in ("lfs", "helper"):
        for key in ("smudge", "clean", "process"):
            arena.git("config", f"filter.{name}.{key}", f"sh -c 'touch {arena.outside}/{name}-{key}; cat'")
        arena.git("config", f"filter.{name}.required", "true")
