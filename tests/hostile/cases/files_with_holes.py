"""The build leaves files with holes, eight terabytes in all: who copies or reads them fills the disk, or the memory."""

from tests.hostile.arena import Arena, Outcome

OPTIONS = {"address_space": 12 << 30}
SCRIPT = """#!/bin/sh
i=0
while [ $i -lt 2000 ]; do i=$((i+1)); truncate -s 4294967295 hole$i.so; done
chmod +x hole*.so
"""


def prepare(arena: Arena) -> None:
    arena.workload(build="command = './make.sh'")
    arena.write("make.sh", "#!/bin/sh\n", executable=True)
    arena.commit("A harmless build")
    arena.write("make.sh", SCRIPT, executable=True)
    arena.commit()


def held(arena: Arena, outcome: Outcome) -> None:
    assert "gate: same" in outcome.output, outcome.said
    assert sum(path.stat().st_blocks for path in arena.home.glob("builds/*/*/*/tree/*.so")) == 0
    assert sum(path.stat().st_blocks for path in arena.home.glob("builds/*/*/tree/*.so")) == 0
