"""The same documents in each execution, decoded and encoded again."""

import json
import sys
from typing import Optional

import msgspec


class Record(msgspec.Struct):
    name: str
    number: float
    flag: bool
    next: Optional[int] = None


text = json.dumps([{"name": f"record {i}", "number": i / 2, "flag": i % 2 == 0} for i in range(20000)]).encode()
if sys.argv[1] == "records":
    made = msgspec.json.decode(text, type=list[Record])
    msgspec.json.encode(made)
elif sys.argv[1] == "untyped":
    made = msgspec.json.decode(text)
    msgspec.msgpack.decode(msgspec.msgpack.encode(made))
else:
    made = msgspec.json.decode(b"[" + b",".join(b"%d.25" % i for i in range(200000)) + b"]")
    msgspec.json.encode(made)
