"""A store of tests whose limits are met by few events."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipeline.store.warehouse import identities
from pipeline.store.warehouse.incremental import event_keys
from tests.pipeline.working_store import WorkingStore, a_working_store


@contextmanager
def a_store_of_few_linked(folder: Path, **options: Any) -> Iterator[WorkingStore]:
    """Open a store with small buckets, where a user id of more than three visitors is a placeholder.

    Events are found by their keys in files from the first run on.
    """
    with (
        a_working_store(folder, rollup_bucket_events=90, **options) as opened,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(identities, "MAX_VISITORS_OF_USER", 3)
        patched.setattr(event_keys, "MIN_EVENTS", 1)
        yield opened
