"""Value: the sum of the values of a visitor's events."""

from dataclasses import replace
from typing import Final

from engine.measures.count import COUNT

VALUE: Final = replace(
    COUNT,
    word="value",
    description=(
        "the sum of their `value` per visitor, to four decimals (of `value_param` where it is given)"
    ),
    summed=lambda _: "value",
)
