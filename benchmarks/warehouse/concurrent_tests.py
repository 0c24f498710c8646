"""Comparison of tests that run at once, each with a million visitors, against reading their rows alone."""

import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.warehouse.many_events import EXPERIMENTS, PROJECT, STARTED
from engine.design.experiment import Experiment
from engine.local_days import epoch_days
from pipeline.results.nightly_interactions import MOST_PAIRS, NightlyInteractions, read_interactions
from pipeline.rollup.counting_rules import CountingRules, fingerprint
from pipeline.rollup.publications import Publications
from pipeline.settings import Settings
from pipeline.store.warehouse import published, visitors
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.published import Published

NIGHT = STARTED + timedelta(days=20)
# 21 tests have 210 pairs.
TESTS = 21


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Compare the 200 largest of 210 pairs; 1 million visitors, all of them in every test, at scale 1."""
    first = replace(EXPERIMENTS[0], status="running", completed_at=None)
    tests = [replace(first, id=f"exp_{number}", name=f"Test {number}") for number in range(TESTS)]
    number = int(1_000_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Warehouse.open(Settings(data_dir=Path(folder)))
        with warehouse.transaction() as cursor:
            published.create_tables(cursor)
        for one in tests:
            _publish(warehouse, one, number)
        began = time.process_time()
        with warehouse.transaction() as cursor:
            for one in tests:
                columns = "sum(visitor_key % 7), sum(variant), count(g0_at)"
                cursor.execute(
                    f"SELECT {columns} FROM {visitors.result_table('visitors', one.id)}"
                ).fetchall()
        bare = time.process_time() - began
        interactions = NightlyInteractions(warehouse, Publications(warehouse))
        began = time.process_time()
        interactions.keep(tests, PROJECT, NIGHT.date(), now=NIGHT)
        taken = time.process_time() - began
        with warehouse.cursor() as cursor:
            kept = read_interactions(cursor, tests[0].id)
        if kept is None or not kept.compared or kept.found:
            raise RuntimeError(f"tests without interactions are told as {kept}")
        warehouse.close()
    return [
        {
            "tests": TESTS,
            "visitors of each": f"{number:,}",
            "pairs": MOST_PAIRS,
            "processor time": f"{taken:.1f} s",
            "one scan of their rows": f"{bare:.2f} s",
            "ratio": f"{taken / bare:.0f}",
        }
    ]


def _publish(warehouse: Warehouse, experiment: Experiment, number: int) -> None:
    """Store visitors with a variant by their key and the test, and outcomes that depend on neither."""
    rules = CountingRules.of(PROJECT)
    goals = len(experiment.goals)
    salt = int(experiment.id.removeprefix("exp_"))
    day = epoch_days(STARTED.date())
    converts = "hash(concat('goal', {goal}, i)) % 10 = 0"
    columns = "".join(
        f", CASE WHEN {converted} THEN 0 END AS g{goal}_at"
        f", CASE WHEN {converted} THEN {day} END AS g{goal}_day,"
        f" CASE WHEN {converted} THEN 1900 + i % 200 ELSE 0 END AS g{goal}_cents"
        for goal in range(goals)
        for converted in (converts.format(goal=goal),)
    )
    with warehouse.transaction() as cursor:
        visitors.recreate(cursor, experiment.id, goals=goals)
        cursor.execute(
            f"""
            INSERT INTO {visitors.result_table("visitors", experiment.id)} BY NAME
            SELECT hash(i) AS visitor_key, hash(concat({salt}, ':', i)) % 2 AS variant, 0 AS first_exposed_at,
              {day} AS first_day {columns} FROM range({number}) t(i)
            """
        )
        published.publish(
            cursor,
            [
                Published(
                    experiment_id=experiment.id,
                    fingerprint=fingerprint(experiment, rules),
                    rules=rules.to_json(),
                    covered_seq=0,
                    as_of=0,
                    last_exposed_at=None,
                    variants=tuple(one.id for one in experiment.variants),
                    goals=tuple(one.id for one in experiment.goals),
                    dimensions=(),
                    is_final=False,
                )
            ],
        )


if __name__ == "__main__":
    for row in run(*map(float, sys.argv[1:])):
        print(row)
