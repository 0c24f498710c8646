"""Mark of the content of a closed SQLite file: it tells that a bit was changed since."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from pipeline.store.private_files import OWNERS_FILE
from pipeline.store.sealed_files import seal, unseal

_SUFFIX: Final = ".content.mark"
# Of the header of a file: `user_version`, the number of its commits (https://www.sqlite.org/fileformat.html).
_NUMBER_AT: Final = slice(60, 64)


def content_mark(path: Path) -> Path:
    """Return where the mark of a file is."""
    return path.with_name(path.name + _SUFFIX)


def note_content(path: Path) -> None:
    """Note the content of a file, unless its log has more; a full disk leaves the mark before."""
    content = _content_of(path)
    if content is None:
        return
    with suppress(OSError):
        mark = content_mark(path)
        draft = mark.with_name(f"{mark.name}.new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_FILE), "wb") as file:
            file.write(seal(content))
        draft.replace(mark)


def is_changed(path: Path) -> bool:
    """Return whether a file of the noted commit has another content; False without a mark."""
    try:
        number, _, digest = unseal(content_mark(path).read_bytes()).partition(b" ")
    except (OSError, ValueError):
        return False
    found = _content_of(path)
    return found is not None and found.startswith(number + b" ") and not found.endswith(digest)


def _content_of(path: Path) -> bytes | None:
    """Return the number of commits in a file, and its digest; None where its log has more."""
    log = path.with_name(f"{path.name}-wal")
    try:
        if log.exists() and log.stat().st_size:
            return None
        with path.open("rb") as file:
            number = int.from_bytes(file.read(_NUMBER_AT.stop)[_NUMBER_AT], "big")
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        # Another process has begun to write meanwhile.
        return None if log.exists() and log.stat().st_size else f"{number} {digest}".encode()
    except OSError:
        return None
