"""Verdict keeper: the verdict of each report, kept for lists where it says something new."""

import logging
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from engine.analysis.results.kept_verdict import KeptVerdict, kept_verdict_of
from engine.analysis.results.report import Report
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.kept_verdicts import KeptVerdicts

# Numbers that move on with every event are written no more often.
_PAUSE: Final = timedelta(minutes=1)

logger = logging.getLogger(__name__)


class VerdictKeeper:
    """Keeps verdicts of reports; what cannot be written now is kept by a later read or job."""

    def __init__(self, kept: KeptVerdicts) -> None:
        """Keep verdicts in the catalog."""
        self._kept = kept
        self.erasures = 0
        self._writing = Lock()
        self._last: dict[str, tuple[tuple[object, ...], datetime]] = {}

    def note_erasure(self) -> None:
        """Keep no verdict of reports that began before; those that are kept may be erased after it."""
        with self._writing:
            self.erasures += 1

    def keep(self, report: Report, *, now: datetime, erasures: int) -> None:
        """Keep the verdict of a report of all visitors, unless the same one was kept a moment ago.

        `erasures` is the number as it was when the report began.
        """
        seen = kept_verdict_of(report)
        if seen is None:
            return
        experiment_id, news = report.experiment.id, _news(seen)
        last = self._last.get(experiment_id)
        if last is not None and last[0] == news and timedelta() <= now - last[1] < _PAUSE:
            return
        try:
            with self._writing:
                if erasures != self.erasures:
                    return
                self._kept.keep(experiment_id, seen)
        except CatalogBusyError as error:
            logger.warning("the verdict of experiment %s is not kept: %s", experiment_id, error)
            return
        self._last[experiment_id] = news, now


def _news(seen: KeptVerdict) -> tuple[object, ...]:
    """Return what is written at once where it differs."""
    alarms = tuple(one.check for one in seen.open_checks if one.status == "alarm")
    return seen.verdict, seen.reason, seen.plan.is_reached, alarms, seen.visitors == 0
