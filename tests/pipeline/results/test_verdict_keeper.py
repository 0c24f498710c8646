"""Verdict keeper: news is kept at once, and numbers that move with every event once a minute."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.kept_verdict import KeptVerdict
from pipeline.results.verdict_keeper import VerdictKeeper
from pipeline.store.catalog.errors import CatalogBusyError
from tests.builders import NOW, an_experiment
from tests.observations import observed


class Kept:
    """A catalog that is busy while it is told to be."""

    def __init__(self) -> None:
        self.written: list[KeptVerdict] = []
        self.is_busy = False

    def keep(self, experiment_id: str, seen: KeptVerdict) -> None:
        assert experiment_id == an_experiment().id
        if self.is_busy:
            raise CatalogBusyError("busy")
        self.written.append(seen)


def test_news_is_written_at_once_and_moving_numbers_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    keeper = VerdictKeeper(kept)  # type: ignore[arg-type] # its one method

    def keep(seconds: int, visitors: int, conversions: int) -> int:
        now = NOW + timedelta(seconds=seconds)
        evidence = replace(observed([visitors, visitors], [500, conversions]), as_of=now)
        keeper.keep(analyze(an_experiment(), evidence, now=now), now=now, erasures=keeper.erasures)
        return len(kept.written)

    assert [keep(0, 5_000, 700), keep(59, 5_100, 700), keep(60, 5_100, 700)] == [1, 1, 2]
    assert keep(61, 5_100, 505) == 3
    kept.is_busy = True
    assert keep(200, 5_100, 505) == 3
    assert "is not kept" in caplog.text
    kept.is_busy = False
    assert keep(201, 5_100, 505) == 4


def test_a_report_that_an_erasure_overtook_keeps_no_verdict() -> None:
    kept = Kept()
    keeper = VerdictKeeper(kept)  # type: ignore[arg-type] # its one method
    report = analyze(an_experiment(), replace(observed([900, 900], [50, 70]), as_of=NOW), now=NOW)
    begun = keeper.erasures
    keeper.note_erasure()
    keeper.keep(report, now=NOW, erasures=begun)
    assert not kept.written
    keeper.keep(report, now=NOW, erasures=keeper.erasures)
    assert len(kept.written) == 1
