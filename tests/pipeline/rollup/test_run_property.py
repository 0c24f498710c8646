"""Carried on from run to run, counted anew, or counted naively: always the same."""

from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.design.units import AttributeUnit
from pipeline.rollup.goals.summed_goals import kept_goals
from pipeline.store.warehouse import extremes
from tests.examples import examples, is_many
from tests.pipeline.rollup.drawn_events import EVENTS, RULES, STEPS
from tests.pipeline.rollup.few_linked import a_store_of_few_linked
from tests.pipeline.rollup.kept_extremes import of_table
from tests.pipeline.rollup.measured_goals import goals, row_of
from tests.pipeline.rollup.naive_comparison import compare_all
from tests.pipeline.working_store import WorkingStore, an_exposure


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_store_of_few_linked(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def require_extremes_of_all_rows(store: WorkingStore, experiments: list[Experiment]) -> None:
    with store.warehouse.transaction() as cursor:
        for one in experiments:
            kept = of_table(cursor, one.id)
            goals = kept_goals(one, [goal.id for goal in one.goals], variants=len(one.variants))
            extremes.fill(cursor, one.id, goals)
            assert kept.equals(of_table(cursor, one.id))


def check(
    store: WorkingStore,
    drawn: list[dict[str, Any]],
    steps: list[tuple[int, int | None]],
    rules: dict[str, Any],
) -> None:
    """Compare after refreshes, at each step the number of events until then, of one experiment or all."""
    project = store.add_project(reporting_timezone="America/New_York", settings=rules)
    experiments = [
        store.add_experiment(project, goals=goals("g0", "tax/net")),
        store.add_experiment(
            project,
            weights=(1, 1, 1),
            goals=goals("g1", "value", cap_percentile=80, per="order"),
            statistics=Statistics(cuped=True, pre_period_days=3),
        ),
        store.add_experiment(project, goals=goals("g2", "value")[:2]),
        # The definitions of the first: no event names the goals of one, some name those of the other.
        store.add_experiment(
            project,
            goals=goals("g3", "tax/net", cap_percentile=80, per="order"),
            statistics=Statistics(cuped=True, pre_period_days=1),
        ),
        store.add_experiment(project, goals=goals("g4", "tax/net", currency="EUR", max_cents=4000, window=1)),
        *(
            store.add_experiment(
                project,
                unit=unit,
                # Quantiles are not compared by unit.
                goals=tuple(
                    goal
                    for goal in goals(f"unit{number}", "tax/net", per="order" if number else "visitor")
                    if not goal.measure.is_quantile
                ),
                statistics=Statistics(cuped=number == 1, pre_period_days=3),
            )
            for number, unit in enumerate([AttributeUnit(attribute="plan"), "user"])
        ),
    ]
    # Most visitors never come back: else everybody is touched by each batch, and counting anew is quicker.
    idle = [an_exposure(experiments[0], number % 2, f"idle{number}") for number in range(200)]
    rows = [*idle, *(row_of(fields, experiments) for fields in drawn)]
    edges = sorted(((len(idle) + cut % (len(drawn) + 1), number) for cut, number in steps), key=itemgetter(0))
    for (start, _), (end, number) in pairwise([(0, None), *edges, (len(rows), None)]):
        store.write(project, *rows[start:end])
        store.rollup.refresh(project.id, None if number is None else [experiments[number].id])
    compare_all(store, rows, experiments, project)
    require_extremes_of_all_rows(store, experiments)
    assert store.rollup.rebuild(project.id).drifted == ()
    # Nothing has drifted: the visitors and sums of all are those that were compared before.
    compare_all(store, rows, experiments if is_many() else experiments[:1], project)


# So late that no outcome is known of a retained goal, nor of one with a window of six days.
LATE = {"kind": "exposure", "visitor": "v1", "minute": 9762, "event_id": "1", "shown": (0, 0)}


@examples(1, 4, seconds=50)
@example([LATE], [(0, None)], {})
@given(EVENTS, st.lists(STEPS, min_size=2, max_size=5), RULES)
def test_carried_on_anew_and_naively_counted_are_the_same(
    store: WorkingStore,
    drawn: list[dict[str, Any]],
    steps: list[tuple[int, int | None]],
    rules: dict[str, Any],
) -> None:
    check(store, drawn, steps, rules)
