"""Speed from a DataFrame of a million visitors to a verdict, against tea-tasting on the same Polars frame.

Both judge a conversion and revenue, plainly and with a covariate, and take turns, so that whatever else the
machine does falls on both. Ours checks the health of the experiment and says more of each goal besides; the
run stops where the p values differ.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tea_tasting as tt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.comparisons.comparing import Row
from engine.analysis.results.report import Report
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted, Revenue

VISITORS = 1_000_000
ROUNDS = 15

# Seconds of the processor, all threads together, and on the clock.
Seconds = tuple[float, float]


def run() -> list[Row]:
    """Time a verdict without and with what visitors spent before."""
    frame = a_shop()
    return [_row("two goals", frame, None), _row("two goals, revenue with a covariate", frame, "before")]


def a_shop(seed: int = 21) -> pl.DataFrame:
    """Draw visitors with a conversion rate of 5%, and a higher one for earlier buyers."""
    rng = np.random.default_rng(seed)
    spender = rng.gamma(2.0, 20.0, VISITORS)
    bought = rng.random(VISITORS) < 0.05
    return pl.DataFrame(
        {
            "variant": np.where(rng.random(VISITORS) < 0.5, "new", "old"),
            "bought": bought.astype(np.int64),
            "revenue": np.where(bought, spender * rng.gamma(4.0, 0.25, VISITORS), 0.0).round(2),
            "before": np.where(rng.random(VISITORS) < 0.2, spender, 0.0),
        }
    )


def _row(what: str, frame: pl.DataFrame, covariate: str | None) -> Row:
    goals = {"bought": Converted(), "revenue": Revenue(covariates=covariate)}
    experiment = tt.Experiment(
        bought=tt.Proportion("bought", method="norm", correction=False),
        revenue=tt.Mean("revenue", covariate, equal_var=False),
    )

    def judge() -> Report:
        return analyze_frame(frame, control="old", goals=goals)

    def ask() -> Any:  # noqa: ANN401  # tea-tasting's result
        return experiment.analyze(frame, control="old")

    theirs = ask()
    for goal, report in zip(goals, judge().goals, strict=True):
        # Their slope is that over both arms together, ours that within arms.
        np.testing.assert_allclose(np.array(report.variants[1].p_value), theirs[goal].pvalue, rtol=1e-4)
    both = [(_seconds(judge), _seconds(ask)) for _ in range(ROUNDS)]
    (ours, on_clock), (peer, peer_on_clock) = (
        tuple(min(kind) for kind in zip(*one, strict=True)) for one in zip(*both, strict=True)
    )
    return {
        "what": f"{VISITORS:,} visitors, {what}",
        "ours": f"{1000 * ours:.0f} ms",
        "peer": "tea-tasting",
        "peer's": f"{1000 * peer:.0f} ms",
        "ratio": f"{peer / ours:.2f}x",
        "on the clock": f"{peer_on_clock / on_clock:.2f}x",
        "goal": ">= 1x",
    }


def _seconds(work: Callable[[], object]) -> Seconds:
    on_clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - processor, time.perf_counter() - on_clock


if __name__ == "__main__":
    for line in run():
        print("  ".join(str(value).ljust(22) for value in line.values()))
