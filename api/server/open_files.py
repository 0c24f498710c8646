"""Limit of open files: raised as far as the system allows, and shared between connections and the store."""

import resource
from typing import Final

# For the databases, logs, snapshots and exports.
RESERVED_FILES: Final = 256


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard limit; return the limit that holds then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections(wanted: int, file_limit: int) -> int:
    """Return the number of connections that leaves RESERVED_FILES, or half of a small limit, to the store."""
    if file_limit == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(file_limit - RESERVED_FILES, file_limit // 2))
