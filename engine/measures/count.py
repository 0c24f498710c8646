"""Count: the events of a visitor."""

from typing import Final

from engine.measures.measure import Measure

COUNT: Final = Measure(
    word="count",
    description="the events per visitor",
    label="Mean",
    unit="number",
    heading="per visitor",
    predicate="averaged",
    per=" per visitor",
    takes_cap=True,
    summed=lambda _: "count",
    columns=("amount",),
)
