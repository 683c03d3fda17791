"""``python -m faultwatch.module NAME ARGUMENT…`` runs a module of ``runner`` or ``service``, as ``python -m`` would."""

import runpy
import sys

from faultwatch import add_tree

if __name__ == "__main__":
    add_tree()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
