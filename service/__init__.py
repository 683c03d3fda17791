"""The service of Faultwatch: stores measurements, detects drifts, and reports them."""

import os

# Searches multiply many small matrices, which threads only slow down. Set before numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
