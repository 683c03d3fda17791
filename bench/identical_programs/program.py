"""Loads its own library while it runs."""

import ctypes
import decimal
import json
import re

print(ctypes.CDLL("./libwork.so").work(60), decimal.Decimal(2).sqrt(), json.dumps(re.findall(r"\d", "a1b2")))
