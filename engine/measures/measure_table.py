"""Table of measures, and the measure of a goal."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from engine.measures.converted import CONVERTED
from engine.measures.count import COUNT
from engine.measures.distinct import DISTINCT
from engine.measures.funnel import FUNNEL
from engine.measures.measure import Measure
from engine.measures.quantile import QUANTILE
from engine.measures.ratio import RATIO
from engine.measures.retained import RETAINED
from engine.measures.revenue import REVENUE, REVENUE_PER_ORDER
from engine.measures.value import VALUE
from engine.vocabulary import GoalType

MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {
        "converted": CONVERTED,
        "revenue": REVENUE,
        "revenue_per_order": REVENUE_PER_ORDER,
        "count": COUNT,
        "value": VALUE,
        "distinct": DISTINCT,
        "ratio": RATIO,
        "retained": RETAINED,
        "funnel": FUNNEL,
        "quantile": QUANTILE,
    }
)
"""Every measure by its name; those of revenue are of goals of that type, all others of other goals."""
CONFIG_MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {name: one for name, one in MEASURES.items() if one.unit != "cents"}
)
"""Measures that a goal names in its config."""


def measure_of(goal_type: GoalType, config: Mapping[str, Any]) -> Measure:
    """Return the measure of a goal; an unknown name is `converted`, and refused by its own check."""
    if goal_type == "revenue":
        return MEASURES["revenue_per_order" if config.get("per") == "order" else "revenue"]
    return CONFIG_MEASURES.get(config.get("measure") or "converted", CONVERTED)
