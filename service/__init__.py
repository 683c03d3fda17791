"""The brain of Faultwatch: stores what was measured, decides what is a drift, and reports it."""

import os

# Searches multiply many small matrices: threads only get in each other's way. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
