"""Scan a table by threads that open it anew for each query: scan.py MMAP_SIZE THREADS QUERIES."""

import json
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def query(size: str) -> None:
    table = sqlite3.connect("table.sqlite")
    table.execute(f"PRAGMA mmap_size = {size}")
    table.execute("SELECT sum(number) FROM segments").fetchone()
    table.close()


start, queries = time.perf_counter(), int(sys.argv[3])
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    list(pool.map(query, [sys.argv[1]] * queries))
print(json.dumps({"operations": queries, "seconds": time.perf_counter() - start}))
