"""A disk that can lose its power: what has not reached the storage is gone, as after a power cut of the machine."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

_SHUTDOWN, _JOURNAL, _NOTHING = 0x8004587D, b"\1\0\0\0", b"\2\0\0\0"
"""EXT4_IOC_SHUTDOWN, and what is still written (EXT4_GOING_FLAGS_LOGFLUSH and NOLOGFLUSH), of fs/ext4/ext4.h."""


@dataclass(frozen=True)
class Disk:
    """An ext4 file system in a file.

    Attributes
    ----------
    file
        The file.
    folder
        Where it is mounted.
    """

    file: Path
    folder: Path

    def cut(self, *, journal: bool) -> None:
        """Cut the power. Processes that use the disk get errors from now on.

        Parameters
        ----------
        journal
            Whether the kernel has just written its journal, as it does every few seconds: new files that nobody waited
            for then have their names, but are empty. Otherwise they do not exist.
        """
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            ioctl(descriptor, _SHUTDOWN, _JOURNAL if journal else _NOTHING)
        finally:
            os.close(descriptor)

    def restart(self) -> None:
        """Mount the disk again as it was when the power was cut."""
        # A copy: the kernel keeps the file system that was cut off as long as any mount namespace has it.
        subprocess.run(["umount", "--lazy", self.folder], check=True)
        before = self.file.rename(self.file.with_name(f"{self.file.name}.before"))
        subprocess.run(["cp", "--sparse=always", before, self.file], check=True)
        before.unlink()
        self._mount()

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", self.file, self.folder], check=True)
        # Loop devices differ in it by what they were used for before. This is one disk, so its settings stay.
        device = self.folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        Path(f"/sys/class/bdi/{number}/read_ahead_kb").write_text("128\n", encoding="ascii")


@contextmanager
def disk(folder: Path, file: Path, size: str) -> Iterator[Disk]:
    """Make a disk in a file and mount it on a new folder; unmount it afterwards.

    Raises
    ------
    subprocess.CalledProcessError
        This machine has no loop devices, or this user may not mount them.
    """
    made = Disk(file, folder)
    folder.mkdir()
    subprocess.run(["truncate", "--size", size, file], check=True)
    # No space is reserved for root, so that root can fill it.
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", file], check=True)
    made._mount()
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)
