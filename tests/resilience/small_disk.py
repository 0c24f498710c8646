"""A small file system of its own."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEBIBYTE: Final = 2**20
# A tmpfs in a mount namespace of its own: gone with its holder, whatever happens to the test.
_HOLD: Final = 'mount -t tmpfs -o size="$1" tmpfs "$0" && echo mounted && exec cat'


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A mounted file system; `mount_point` is its path for processes run through `enter`."""

    mount_point: Path
    holder: int
    enter: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Its path for this process."""
        return Path(f"/proc/{self.holder}/root{self.mount_point}")

    @property
    def free(self) -> int:
        """Free bytes."""
        return shutil.disk_usage(self.folder).free

    def fill(self, *, but: int = 0) -> None:
        """Fill the disk with one file, but for so many bytes."""
        with (self.folder / "ballast").open("ab") as ballast:
            while (room := self.free - but) > 0:
                try:
                    os.posix_fallocate(ballast.fileno(), ballast.seek(0, os.SEEK_END), room)
                except OSError as error:
                    # Another process has taken some of the room meanwhile.
                    if error.errno != errno.ENOSPC:
                        raise

    def clear(self) -> None:
        """Remove the file of `fill`."""
        (self.folder / "ballast").unlink()


@contextmanager
def a_small_disk(mount_point: Path, size: int) -> Iterator[SmallDisk]:
    """Mount an empty file system of that many bytes; needs root, or the right to user namespaces."""
    as_root = os.geteuid() == 0
    kinds = ("--mount",) if as_root else ("--mount", "--user", "--map-root-user")
    held = ["unshare", *kinds, "sh", "-c", _HOLD, str(mount_point), str(size)]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "mounted\n"
        into = ("--mount",) if as_root else ("--mount", "--user", "--preserve-credentials")
        try:
            yield SmallDisk(mount_point, holder.pid, ("nsenter", "--target", str(holder.pid), *into))
        finally:
            holder.stdin.close()
