"""Revenue: the money of a visitor's orders, per visitor or per order."""

from dataclasses import replace
from typing import Final

from engine.measures.measure import Measure

REVENUE: Final = Measure(
    word="converted",
    label="Revenue per visitor",
    unit="cents",
    heading="per visitor",
    takes_cap=True,
    has_days=True,
    has_mean=False,
)
REVENUE_PER_ORDER: Final = replace(REVENUE, label="Revenue per order", columns=("orders",))
