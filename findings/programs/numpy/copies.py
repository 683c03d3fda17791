"""Answer requests with copies of a tensor: copies.py MIB REQUESTS."""

import json
import sys
import time

import numpy

mib, requests = (int(word) for word in sys.argv[1:])
tensor = numpy.ones(mib << 18, dtype=numpy.float32)
total, start = 0.0, time.perf_counter()
for _ in range(requests):
    answer = tensor.copy()
    total += float(answer[0])
    del answer
print(json.dumps({"operations": requests, "seconds": time.perf_counter() - start, "checksum": total}))
