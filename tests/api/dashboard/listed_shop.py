"""A shop with experiments of every verdict and status, for the pages that list them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from engine.analysis.analyze import analyze
from engine.analysis.results.kept_verdict import KeptVerdict, following, kept_verdict_of
from engine.design.conclusion import Conclusion
from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from pipeline.store.catalog.ids import new_id
from tests.api.customers import Customer
from tests.builders import a_goal, an_experiment
from tests.observations import observed

DAY = timedelta(days=1)
# Visitors and conversions of control and treatment.
Counts = tuple[tuple[int, int], tuple[int, int]]
SHIP: Counts = ((20_000, 20_000), (1_000, 1_180))
ROLLBACK: Counts = ((20_000, 20_000), (1_000, 840))
SAME: Counts = ((400_000, 400_000), (40_000, 40_080))
BROKEN: Counts = ((4_000, 5_000), (300, 360))
UNCLEAR: Counts = ((9_000, 9_000), (900, 950))
EARLY: Counts = ((90, 90), (4, 7))
SHOP: Sequence[tuple[str, str, Counts | None, bool]] = (
    ("One-page checkout", "running", SHIP, True),
    ("Price with tax in the list", "running", ROLLBACK, True),
    ("Larger product gallery", "running", BROKEN, False),
    ("Free-shipping banner", "paused", SAME, True),
    ("Search: typo-tolerant", "running", UNCLEAR, False),
    ("Reviews above the fold, with a name that goes on for long enough to wrap", "running", UNCLEAR, False),
    ("Guest checkout first", "running", EARLY, False),
    ("Newsletter pop-up", "paused", UNCLEAR, False),
    ("Gift wrap", "draft", None, False),
    ("Sticky cart button", "completed", SHIP, True),
)


def _saved(experiment: Experiment, _: object) -> Experiment:
    return experiment


def kept_of(counts: Counts, *, is_finished: bool) -> KeptVerdict:
    """The verdict of those counts, three days after an experiment's first week."""
    evidence = replace(observed(list(counts[0]), list(counts[1])), as_of=utc_now())
    experiment = an_experiment(started_at=utc_now() - 10 * DAY)
    kept = kept_verdict_of(analyze(experiment, evidence, now=utc_now(), is_finished=is_finished))
    assert kept is not None
    return kept


def fill(
    customer: Customer, project: str, shop: Sequence[tuple[str, str, Counts | None, bool]] = SHOP
) -> None:
    """Save the experiments of a shop in a project, with their verdicts."""
    catalog, project_id = customer.services.catalog, project.rsplit("/", maxsplit=1)[-1]
    owner = catalog.members.accepted(customer.account.id)[0].id
    verdicts: dict[object, KeptVerdict] = {}
    for number, (name, status, counts, is_finished) in enumerate(shop):
        id_ = new_id("exp")
        ended = utc_now() - 2 * DAY if status == "completed" else None
        conclusion = (
            Conclusion(
                decision="ship",
                variant_id="var_1",
                note="It sells.",
                decided_at=ended,
                decided_by=owner,
                decided_by_name="Ada",
            )
            if ended
            else None
        )
        experiment = an_experiment(
            id=id_,
            salt=id_,
            project_id=project_id,
            name=name,
            test_key=id_.replace("_", "-"),
            status=status,
            assigned_user_ids=(owner,) if number % 2 else (),
            tags=("checkout",) if number % 3 == 0 else (),
            goals=(a_goal(name="Order placed"),),
            started_at=None if counts is None else utc_now() - 10 * DAY,
            completed_at=ended,
            conclusion=conclusion,
        )
        catalog.experiments.create(project_id, partial(_saved, experiment), actor="test")
        if counts is not None:
            known = verdicts.setdefault((counts, is_finished), kept_of(counts, is_finished=is_finished))
            before = replace(known, verdict="keep_running", counted_at=known.counted_at - DAY / 2)
            catalog.kept_verdicts.keep(id_, following(before, known) if number < 3 else known)
