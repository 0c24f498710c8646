"""Analysis with recorded looks: reads them, and records the look that is due."""

import logging
from datetime import datetime

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.recorded_looks import RecordedLooks

logger = logging.getLogger(__name__)


def analyze_and_record(  # noqa: PLR0913  # everything that an analysis depends on
    experiment: Experiment,
    evidence: Evidence,
    looks: RecordedLooks,
    *,
    now: datetime,
    currency: str,
    is_finished: bool = False,
) -> Report:
    """Analyze by the looks recorded so far, and record the look that is due.

    Nothing is recorded of evidence that lacks events of before `now`. The report is that of the recorded
    looks, whichever process recorded them. `is_finished` where the data are complete and judged by one look.
    A look that cannot be written, as on a full disk, is recorded by a later read or job.
    """
    from engine.analysis.analyze import analyze  # noqa: PLC0415 - slow, and not needed at a start

    report = analyze(
        experiment,
        evidence,
        now=now,
        currency=currency,
        looks=looks.of(experiment.id),
        is_finished=is_finished,
    )
    is_complete = evidence.as_of is not None and evidence.as_of >= now
    if report.due_look is None or not is_complete:
        return report
    try:
        looks.add(experiment.id, report.due_look)
    except CatalogBusyError as error:
        logger.warning("the look at experiment %s is not recorded: %s", experiment.id, error)
        return report
    return analyze(
        experiment,
        evidence,
        now=now,
        currency=currency,
        looks=looks.of(experiment.id),
        is_finished=is_finished,
    )
