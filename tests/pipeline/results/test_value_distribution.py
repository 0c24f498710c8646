"""Distributions of values: the visitors that the results count, by value, within the buckets of quantiles."""

from dataclasses import replace

import numpy as np
import pytest

from engine.design.goal import Goal
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.value_buckets import count_values
from pipeline.results.filters import SegmentFilters
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

# The first visitors of each variant are on a phone; 0 is no order. The limits of buckets are among them.
CENTS = (0, 1, 99, 100, 101, 2_599, 1_234_567, 100)
PHONES = 4
REVENUE = Goal(id="goal_r", name="Revenue", goal_type="revenue", is_primary=True)
ITEMS = Goal(
    id="goal_n",
    name="Orders",
    goal_type="custom_event",
    config={"event_name": "purchase", "measure": "count"},
)
SHARE = Goal(id="goal_s", name="Bought", goal_type="custom_event", config={"event_name": "purchase"})


def alike(found: ValueCounts, values: tuple[int, ...]) -> None:
    wanted = count_values(values)
    assert found.values == pytest.approx(wanted.values)
    assert found.counts.tolist() == wanted.counts.tolist()


def test_visitors_are_counted_by_value_in_each_variant(module_store: WorkingStore) -> None:
    project = module_store.add_project()
    experiment = module_store.add_experiment(project, goals=(REVENUE, ITEMS, SHARE))
    rows = []
    for number in range(2 * len(CENTS)):
        variant, cents = number % 2, CENTS[number // 2]
        device = "mobile" if number // 2 < PHONES else "desktop"
        rows.append(an_exposure(experiment, variant, f"v{number}", minute=1, device_type=device))
        # The variant doubles every value, by a second order.
        rows += [a_purchase(f"v{number}", cents=cents, minute=2 + one) for one in range(variant + 1) if cents]
    module_store.write(project, *rows)
    asked, now = (experiment, project, SegmentFilters()), NOW
    results = module_store.results
    found = results.distribution(*asked, REVENUE, now=now)
    assert found is not None
    control, treatment = (found[one.id] for one in experiment.variants)
    alike(control, CENTS)
    alike(treatment, tuple(2 * one for one in CENTS))
    # The same visitors as in the report, also of a segment.
    report = results.report(experiment, project, now=now)
    assert [found[one.variant_id or ""].n for one in report.goals[0].variants] == [8, 8]
    phones = SegmentFilters.from_query({"device_type": "mobile"})
    of_phones = results.distribution(experiment, project, phones, REVENUE, now=now)
    assert of_phones is not None
    alike(of_phones[experiment.variants[0].id], CENTS[:PHONES])
    orders = results.distribution(*asked, ITEMS, now=now)
    assert orders is not None
    alike(orders[experiment.variants[1].id], (0, *[2] * 7))
    # A share has no values, and a goal that was added later none yet.
    assert results.distribution(*asked, SHARE, now=now) is None
    assert results.distribution(*asked, replace(REVENUE, id="goal_new"), now=now) is None
    assert np.isclose(control.values.max(), 1_234_567, rtol=0.006)
