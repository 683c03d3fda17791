"""The ids of runs, under which they are stored."""

import os
import uuid
from datetime import datetime


def make_run_id(moment: datetime) -> uuid.UUID:
    """Return a UUID of version 7 (RFC 9562, 5.7): it begins with a moment, and its remainder is random.

    The ids of runs that are stored shortly after each other are adjacent in a database index, so that a batch changes
    few of its pages. Random ids are valid as well.
    """
    return make_id_at(moment, os.urandom(10))


def make_id_at(moment: datetime, random_bytes: bytes) -> uuid.UUID:
    """Return the id that consists of a moment, in milliseconds, and ten random bytes.

    As RFC 9562 requires, the version and the variant replace six bits of the random bytes.
    """
    milliseconds = round(moment.timestamp() * 1000)
    number = int.from_bytes(milliseconds.to_bytes(6, "big") + random_bytes, "big")
    # Bits 76 to 79 are the version, bits 62 and 63 the variant.
    version_mask, variant_mask = 0xF << 76, 3 << 62
    version, variant = 7 << 76, 2 << 62
    return uuid.UUID(int=number & ~(version_mask | variant_mask) | version | variant)
