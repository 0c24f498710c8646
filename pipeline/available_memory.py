"""Memory of the machine, or of the container that this process may use less of it in."""

import os
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_GROUP: Final = Path("/proc/self/cgroup")
# Version 1 of control groups.
_OLD_LIMIT: Final = "memory/memory.limit_in_bytes"


def available_memory(cgroups: Path = _CGROUPS, own_group: Path = _OWN_GROUP) -> int:
    """Return the bytes that this process may use: those of the machine, or less by its control groups.

    Control groups: https://docs.kernel.org/admin-guide/cgroup-v2.html.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = [cgroups / _OLD_LIMIT]
    group = cgroups / _own_path(own_group)
    # A limit of any group above holds, too.
    files += [one / "memory.max" for one in (group, *group.parents) if one.is_relative_to(cgroups)]
    limits = [limit for file in files if (limit := _read_limit(file)) is not None]
    return min([machine, *limits])


def _own_path(own_group: Path) -> str:
    try:
        lines = own_group.read_text().splitlines()
    except OSError:
        return ""
    return next((line[3:].lstrip("/") for line in lines if line.startswith("0::")), "")


def _read_limit(file: Path) -> int | None:
    """Read a limit in bytes; None where there is none, which version 2 writes as `max`."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
