"""The job's PYTHONPATH has an empty entry, as `PYTHONPATH=:$X` leaves: that is the checkout."""

from tests.hostile.arena import Arena

# The command itself would import the checkout's modules: only what it starts is tried, so the names are the service's.
OPTIONS = {"environment": {"PYTHONPATH": "."}}


def prepare(arena: Arena) -> None:
    arena.write("gunicorn.py", f"open({str(arena.outside / 'pwned')!r}, 'w')\n")
    arena.workload()
    arena.commit()
