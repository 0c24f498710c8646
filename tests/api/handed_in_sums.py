"""Sums of an experiment, as a program that counted them sends them."""

import io
from datetime import UTC, datetime
from typing import Any

import polars as pl

from engine.design.experiment import Experiment
from pipeline.results.outside.outside_sums import OutsideSums

PARQUET = "application/vnd.apache.parquet"


def plain_cells(variants: list[str], goal: str, *, converted: int = 20, visitors: int = 100) -> pl.DataFrame:
    """Build sums of so many visitors a variant on the present day, half of them on mobiles."""
    day = datetime.now(UTC).date()
    rows = [
        {"dimension": dimension, "value": value, "variant": variant, "day": day, **numbers}
        for dimension, value, part in (("", "", 1), ("device_type", "mobile", 2))
        for variant in variants
        for numbers in (
            {"visitors": visitors // part},
            {
                "goal": goal,
                "sum": "money",
                "conversions": converted // part,
                "cohort_conversions": converted // part,
            },
        )
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def parquet_of(cells: pl.DataFrame) -> bytes:
    sums = OutsideSums(source="", fingerprint="", watermark=datetime.now(UTC), cells=cells)
    file = io.BytesIO()
    sums.table().write_parquet(file)
    return file.getvalue()


def sums_request(
    experiment: Experiment | None, fingerprint: str = "unknown", **numbers: int
) -> dict[str, Any]:
    """Build the arguments of a request with plain sums of an experiment; of nobody without one."""
    variants = [] if experiment is None else [one.id for one in experiment.variants]
    goal = "" if experiment is None or not experiment.goals else experiment.goals[0].id
    return {
        "content": parquet_of(plain_cells(variants, goal, **numbers)),
        "params": {"source": "lake", "fingerprint": fingerprint, "watermark": datetime.now(UTC).isoformat()},
        "headers": {"Content-Type": PARQUET},
    }
