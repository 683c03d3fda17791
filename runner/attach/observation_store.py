"""Stores observations for comparisons: each in a folder, with its profile, diagnosis and stacks."""

import re
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from runner.contract.base import Name, Strict
from runner.contract.diagnosis import Diagnosis
from runner.contract.profile import Profile
from runner.contract.profile_formats import format_stacks
from runner.errors import FaultwatchError
from runner.system.private_folder import make_private_folder
from runner.system.regular_file import read_regular

FORMATS = {"folded": ".folded", "speedscope": ".speedscope.json", "pprof": ".pb.gz"}
"""The formats in which stacks are stored, with the suffix of the file in each."""
_FILE = "observation.json"
_MAX_BYTES = 256 << 20
_MAX_LISTED_OBSERVATIONS = 5
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
_MAX_NAME_CHARACTERS = 60
"""Largest number of characters of a program's name in the id of an observation."""


class StoredObservation(Strict):
    """An observation as it is stored."""

    version: int = 1
    observation_id: Name
    title: str
    profile: Profile
    diagnosis: Diagnosis | None = None


def make_observation_id(name: str, moment: datetime) -> str:
    """Return the id of an observation: the program's name and the local time, to the second."""
    return f"{name[:_MAX_NAME_CHARACTERS]}-{moment.astimezone():%Y%m%d-%H%M%S}"


def store_observation(folder: Path, stored_observation: StoredObservation) -> StoredObservation:
    """Store an observation and its stacks in a folder that is named by its id; return it.

    If another observation has the id, because both began in the same second, the returned one has another id.

    Raises
    ------
    FaultwatchError
        The folder cannot be written.
    """
    observation_folder = folder / stored_observation.observation_id
    try:
        make_private_folder(folder)
        observation_folder = _make_new_folder(observation_folder)
        stored_observation = stored_observation.model_copy(update={"observation_id": observation_folder.name})
        for stacks in stored_observation.profile.stack_profiles:
            for format_name, suffix in FORMATS.items():
                (observation_folder / f"{stacks.kind}{suffix}").write_bytes(
                    format_stacks(stored_observation.profile, stacks, format_name)
                )
        # This file is written last, so that a folder which contains it is complete.
        (observation_folder / _FILE).write_text(stored_observation.model_dump_json(), encoding="utf-8")
    except OSError as error:
        raise FaultwatchError(
            f"{observation_folder} cannot be written: {error.strerror}",
            "set FAULTWATCH_HOME to a folder that you can write to",
        ) from None
    return stored_observation


def _make_new_folder(folder: Path) -> Path:
    """Make a folder, with a number after its name if the name is taken; return its path."""
    for number in count(1):
        new_folder = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        with suppress(FileExistsError):
            new_folder.mkdir(mode=0o700)
            return new_folder
    raise AssertionError  # count() never ends


def load_observation(folder: Path, name: str) -> StoredObservation:
    """Return a stored observation by its id, or by a unique prefix of its id.

    Raises
    ------
    FaultwatchError
        There is no such observation, several match, or it cannot be read.
    """
    names = list_observations(folder)
    matching_names: list[str] = []
    if name in names:
        matching_names = [name]
    elif _ID.fullmatch(name):
        matching_names = [stored_name for stored_name in names if stored_name.startswith(name)]
    if not matching_names:
        newest_names = ", ".join(names[-_MAX_LISTED_OBSERVATIONS:])
        remedy = f"pass the id of a stored observation; newest: {newest_names}" if names else "observe a process first"
        raise FaultwatchError(f"there is no stored observation {name!r}", remedy)
    if len(matching_names) > 1:
        newest_names = ", ".join(matching_names[-_MAX_LISTED_OBSERVATIONS:])
        raise FaultwatchError(
            f"the ids of {len(matching_names)} observations begin with {name!r}",
            f"pass a whole id; newest: {newest_names}",
        )
    file = folder / matching_names[0] / _FILE
    try:
        return StoredObservation.model_validate_json(read_regular(file, _MAX_BYTES))
    except OSError as error:
        raise FaultwatchError(f"{file} cannot be read: {error.strerror}", "make it readable by this user") from None
    except ValueError:
        raise FaultwatchError(
            f"{file} is not an observation that this version can read", "observe the process again"
        ) from None


def list_observations(folder: Path) -> list[str]:
    """Return the ids of the complete observations, the oldest first."""
    dated_names: list[tuple[int, str]] = []
    for file in folder.glob(f"*/{_FILE}"):
        with suppress(OSError):  # It was removed meanwhile.
            dated_names.append((file.stat().st_mtime_ns, file.parent.name))
    return [name for _, name in sorted(dated_names)]
