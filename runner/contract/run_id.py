"""The ids of runs, by which a store finds them."""

import os
import uuid
from datetime import datetime


def make_run_id(moment: datetime) -> uuid.UUID:
    """Return an id that begins with a moment and is random otherwise: a UUID of version 7 (RFC 9562, 5.7).

    Ids of runs that are stored soon after each other are side by side in the index of a database, so few of its pages
    change with each batch. Random ids are valid as well.
    """
    return make_id_at(moment, os.urandom(10))


def make_id_at(moment: datetime, random_bytes: bytes) -> uuid.UUID:
    """Return the id that begins with a moment, in milliseconds, and ends with ten random bytes.

    RFC 9562 puts the version and the variant in place of six of their bits.
    """
    milliseconds = round(moment.timestamp() * 1000)
    number = int.from_bytes(milliseconds.to_bytes(6, "big") + random_bytes, "big")
    version_mask, variant_mask = 0xF << 76, 3 << 62
    version, variant = 7 << 76, 2 << 62
    return uuid.UUID(int=number & ~(version_mask | variant_mask) | version | variant)
