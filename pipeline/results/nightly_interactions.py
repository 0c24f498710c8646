"""Interactions between the tests of a project, looked for each night among the visitors in both."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import combinations
from typing import Final

import msgspec
import numpy as np
import polars as pl

from engine.analysis.evidence.interactions import Interaction, InteractionEvidence, PairSums
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.project import Project
from engine.design.units import is_clustered
from engine.display.plain_data import plain_data
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.typed_records import record_of
from pipeline.rollup.goals.known_days import last_days
from pipeline.rollup.goals.summed_goals import all_goals
from pipeline.rollup.publications import Publications
from pipeline.store.warehouse import kept_interactions
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.concurrent_outcomes import KeyPart, count_visitors, read_keys, read_outcomes
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal

# Pairs that are compared, those with the most visitors in common.
MOST_PAIRS: Final = 200
# Rows in memory at once, and those by which the pairs with the most visitors are found.
_AT_ONCE: Final = 4_000_000
_SAMPLED: Final = 400_000


@dataclass(frozen=True, slots=True)
class _Test:
    """A test whose visitors are compared, with its primary goal."""

    experiment: Experiment
    visitors: SelectedVisitors
    goal: SummedGoal
    is_ratio: bool
    last_day: int | None


@dataclass(frozen=True, slots=True)
class _Rows:
    """Visitors of a test in one part: their number among all of the part, and their outcomes."""

    ids: IntArray
    variants: IntArray
    values: Mapping[str, FloatArray]
    is_known: BoolArray
    is_share: bool


class NightlyInteractions:
    """Interactions of tests, kept for their health check until the next night."""

    def __init__(self, warehouse: Warehouse, publications: Publications) -> None:
        """Keep in `warehouse`, and tell `publications` of it, as results change with it."""
        self._warehouse = warehouse
        self._publications = publications

    def keep(
        self, experiments: Collection[Experiment], project: Project, day: date, *, now: datetime
    ) -> None:
        """Compare the tests that run at once, and keep what is found for each."""
        running = [one for one in experiments if one.status in OPEN]
        if not running:
            return
        with self._warehouse.transaction() as cursor:
            tests, reasons = _tests_of(cursor, running, project, now)
            pairs = _largest_overlaps(tests)
            sums = _add_up(tests, pairs)
        found = _found_of(running, sums, reasons, day)
        contents = {name: msgspec.json.encode(plain_data(one)).decode() for name, one in found.items()}
        with self._publications.replacing(contents), self._warehouse.transaction() as cursor:
            kept_interactions.replace(cursor, contents)


def read_interactions(cursor: Cursor, experiment_id: str) -> InteractionEvidence | None:
    """Read what the last night found of an experiment; None without a night."""
    content = kept_interactions.find(cursor, experiment_id)
    return None if content is None else record_of(msgspec.json.decode(content), InteractionEvidence)


def _tests_of(
    cursor: Cursor, running: Sequence[Experiment], project: Project, now: datetime
) -> tuple[list[_Test], dict[str, str]]:
    """List the tests that can be compared, and by id the reasons of the others."""
    published = published_rollups.find_all(cursor, [one.id for one in running])
    tests, reasons = [], {}
    for experiment in running:
        record = published.get(experiment.id)
        reason = _reason_against(experiment, record)
        if reason is not None or record is None:
            reasons[experiment.id] = reason or "nothing is counted yet"
            continue
        goal = next(one for one in experiment.goals if one.is_primary)
        place = record.goals.index(goal.id)
        visitors = SelectedVisitors.everyone(cursor, experiment.id, variants=len(record.variants))
        summed = next(one for one in all_goals(experiment, record.goals) if one.place == place)
        last = last_days(experiment, record.goals, now, project.timezone).get(place)
        tests.append(_Test(experiment, visitors, summed, goal.measure.is_ratio, last))
    return tests, reasons


def _reason_against(experiment: Experiment, published: Published | None) -> str | None:
    """Say why the visitors of a test cannot be compared; None where they can."""
    goal, ids = experiment.primary_goal, tuple(one.id for one in experiment.variants)
    if goal is None or experiment.control is None:
        return "it has no primary goal and control"
    if published is None:
        return "it is not counted yet"
    reasons = {
        f"only sums of its visitors are known, from {published.sums_from}": published.sums_from is not None,
        "it compares units other than visitors": is_clustered(experiment.unit),
        "its weights changed": len(experiment.weight_epochs) > 1,
        "its primary goal is a quantile": goal.measure.is_quantile,
        "it is not counted yet": goal.id not in published.goals or published.variants != ids,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _largest_overlaps(tests: Sequence[_Test]) -> list[tuple[int, int]]:
    """List the pairs of tests, by number, with the most visitors in common, by a sample of their keys."""
    total = sum(count_visitors(one.visitors) for one in tests)
    part = KeyPart(0, max(1, total // _SAMPLED))
    ids, size = _numbered([read_keys(one.visitors, part) for one in tests])
    is_in = np.zeros((size, len(tests)), np.float32)
    for number, rows in enumerate(ids):
        is_in[rows, number] = 1.0
    common = is_in.T @ is_in
    found = Counter(
        {pair: float(common[pair]) for pair in combinations(range(len(tests)), 2) if common[pair]}
    )
    return [pair for pair, _ in found.most_common(MOST_PAIRS)]


def _numbered(keys: Sequence[pl.Series]) -> tuple[list[IntArray], int]:
    """Number the visitors of all tests together; return the numbers of each test, and how many there are."""
    if not keys:
        return [], 0
    unique, numbers = np.unique(np.concatenate([one.to_numpy() for one in keys]), return_inverse=True)
    return np.split(numbers, np.cumsum([one.len() for one in keys])[:-1]), len(unique)


def _add_up(tests: Sequence[_Test], pairs: Sequence[tuple[int, int]]) -> list[PairSums]:
    """Add up the outcomes of visitors in both tests of each pair, on the goal of each, in one pass."""
    chosen = sorted({number for pair in pairs for number in pair})
    parts = 1 + sum(count_visitors(tests[number].visitors) for number in chosen) // _AT_ONCE
    totals: dict[tuple[int, int], dict[str, FloatArray]] = {}
    partners = defaultdict(list)
    for first, second in pairs:
        partners[first].append(second)
    for part in range(parts if chosen else 0):
        rows, size = _read_part([tests[number] for number in chosen], KeyPart(part, parts))
        of_test = dict(zip(chosen, rows, strict=True))
        place = np.full(size, -1, np.int64)
        for first, others in partners.items():
            place[of_test[first].ids] = np.arange(len(of_test[first].ids))
            for second in others:
                found = place[of_test[second].ids]
                both = np.flatnonzero(found >= 0)
                sides = (of_test[first], found[both]), (of_test[second], both)
                for key, (own, other) in (((first, second), sides), ((second, first), sides[::-1])):
                    shape = tuple(len(tests[number].experiment.variants) for number in key)
                    _add(totals.setdefault(key, {}), _sums(*own, *other, shape=(shape[0], shape[1])))
            place[of_test[first].ids] = -1
    return [
        PairSums(experiment=tests[a].experiment, other=tests[b].experiment, **sums)
        for (a, b), sums in totals.items()
    ]


def _read_part(tests: Sequence[_Test], part: KeyPart) -> tuple[list[_Rows], int]:
    frames = [
        read_outcomes(one.visitors, one.goal, part, is_ratio=one.is_ratio, last_day=one.last_day)
        for one in tests
    ]
    ids, size = _numbered([frame["visitor_key"] for frame in frames])
    return [
        _Rows(
            number,
            frame["variant"].to_numpy().astype(np.int64),
            {name: frame[name].to_numpy() for name in ("y", "d") if name in frame.columns},
            frame["is_known"].to_numpy(),
            is_share=test.goal.column is None and not test.is_ratio,
        )
        for number, frame, test in zip(ids, frames, tests, strict=True)
    ], size


def _sums(  # both sides
    own: _Rows, at: IntArray, other: _Rows, other_at: IntArray, *, shape: tuple[int, int]
) -> dict[str, FloatArray]:
    """Sum up the goal of one test over visitors in both, by their variants."""
    if not own.is_known.all():
        is_known = own.is_known[at]
        at, other_at = at[is_known], other_at[is_known]
    cell = own.variants[at] * shape[1] + other.variants[other_at]
    y = own.values["y"][at]
    weights: dict[str, FloatArray | None] = {"n": None, "y": y}
    if not own.is_share:
        weights |= {"valued": (y != 0).astype(np.float64), "yy": y * y}
    if "d" in own.values:
        d = own.values["d"][at]
        weights |= {"d": d, "dd": d * d, "dy": d * y}
    size = shape[0] * shape[1]
    sums = {
        name: np.asarray(np.bincount(cell, one, size), np.float64).reshape(shape)
        for name, one in weights.items()
    }
    # Values of 1 and 0 are their squares.
    return {"valued": sums["y"], "yy": sums["y"], **sums} if own.is_share else sums


def _add(totals: dict[str, FloatArray], sums: Mapping[str, FloatArray]) -> None:
    for name, one in sums.items():
        totals[name] = totals[name] + one if name in totals else one


def _found_of(
    running: Sequence[Experiment], sums: Sequence[PairSums], reasons: Mapping[str, str], day: date
) -> dict[str, InteractionEvidence]:
    """Arrange what was found by experiment: an interaction belongs to both of its tests."""
    from engine.analysis.comparison.pair_interactions import (  # noqa: PLC0415 - slow, and not needed at a start
        find_interactions,
        is_comparable,
    )

    compared, found = defaultdict(set), defaultdict(list)
    for one in sums:
        if is_comparable(one):
            compared[one.experiment.id].add(one.other.name)
            compared[one.other.id].add(one.experiment.name)
    for interaction in find_interactions(sums):
        found[interaction.test_id].append(interaction)
        found[interaction.other_id].append(interaction)
    return {
        one.id: InteractionEvidence(
            day=day.isoformat(),
            compared=tuple(sorted(compared[one.id])),
            found=tuple(_in_order(found[one.id], one.id)),
            left_out={
                other.name: reasons[other.id]
                for other in running
                if other.id in reasons and other.id != one.id
            },
            unavailable=reasons.get(one.id),
        )
        for one in running
    }


def _in_order(found: Sequence[Interaction], experiment_id: str) -> list[Interaction]:
    """Sort by the rate of false discoveries, those on the test's own goal first."""
    return sorted(found, key=lambda one: (one.test_id != experiment_id, one.q_value))
