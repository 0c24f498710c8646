"""Largest visitors of a lazy table, which its engine finds: some values, without the visitors' ids."""

from collections.abc import Iterator, Sequence

import narwhals as nw

from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors, LargeVisitor
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile
from engine.frames.lazy.engine_queries import Table, fetch

_LISTS = ("by_value", "by_denominator")


def largest_lazy(visitors: Table, kinds: Sequence[FrameGoal], arms: int) -> LargestVisitors:
    """Find the largest visitors of every goal that is a mean, in one query."""
    found, names = LargestVisitors.none(len(kinds), arms), visitors.collect_schema().names()
    queries = [
        query
        for goal, kind in enumerate(kinds)
        if not (kind.is_share or isinstance(kind, Quantile))
        for arm in range(arms)
        for query in _queries(visitors, names, goal, arm)
    ]
    if not queries:
        return found
    rows = fetch(nw.concat(queries)).sort("size", descending=True)
    for (goal, arm), part in rows.group_by("goal", "arm", maintain_order=True):
        lists = {
            name: [
                LargeVisitor(*row)
                for row in part.filter(list=place).select("value", "denominator", "before").iter_rows()
            ]
            for place, name in enumerate(_LISTS)
        }
        found.put(int(str(goal)), int(str(arm)), **lists)
    return found


def _queries(visitors: Table, names: Sequence[str], goal: int, arm: int) -> Iterator[Table]:
    def column(name: str) -> nw.Expr:
        found = nw.col(name) if name in names else nw.lit(None)
        return found.cast(nw.Float64)

    value, denominator = column(f"value_{goal}"), column(f"orders_{goal}")
    sizes = [value, *([denominator] if f"orders_{goal}" in names else [])]
    for place, size in enumerate(sizes):
        rows = visitors.filter((nw.col("arm") == nw.lit(arm)) & ~value.is_null()).select(
            nw.lit(goal).alias("goal"),
            nw.lit(arm).alias("arm"),
            nw.lit(place).alias("list"),
            size.abs().alias("size"),
            value.alias("value"),
            denominator.alias("denominator"),
            column(f"before_{goal}").alias("before"),
        )
        yield rows.sort("size", descending=True, nulls_last=True).head(MOST)
