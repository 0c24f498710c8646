"""The store of each measure that the version before named sums wrote, opened by this one."""

import json
from pathlib import Path

from pipeline.services import open_pipeline
from pipeline.settings import Settings
from tests import measures_store, old_store
from tests.stored_answers import differences, without_sentences


def test_every_number_is_as_that_version_gave_it(tmp_path: Path) -> None:
    wanted = json.loads(measures_store.ANSWERS.read_text())
    found = measures_store.answers(tmp_path)
    assert wanted.keys() == found.keys()
    # Later versions answer further keys, such as those of dimensions added since. Ratios, revenue per order
    # and values with a pre-period are tested by the sums of both arms since, and goals with a window are
    # compared once it is over: these numbers, and the p values of segments beside them, are of that change.
    # The revenue that a capped goal without money brought was a number of events, and is 0.
    changed = differences(without_sentences(wanted), without_sentences(found))
    assert [one for one in changed if not one.endswith(": is new")] == []


def test_a_recount_agrees_with_the_sums_that_were_stored(tmp_path: Path) -> None:
    settings = Settings(data_dir=measures_store.unpack(tmp_path), snapshot_seconds=0)
    with open_pipeline(settings, clock=lambda: old_store.NOW) as pipeline:
        outcome = pipeline.rollup.rebuild(json.loads(measures_store.FACTS.read_text())["project"])
    # The results of a completed experiment are final.
    assert len(outcome.recounted) == 2
    assert outcome.drifted == ()
