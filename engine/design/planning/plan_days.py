"""Running days that bound a plan."""

from typing import Final

# Running days before which no plan is reached and no winner shipped: every weekday once.
FIRST_DAY: Final = 7
# The running day on which a plan without a given sample ends.
LAST_DAY: Final = 56
# Days until an outcome is known that leave two weeks of visitors to a plan that ends on LAST_DAY.
LONGEST_WAIT: Final = LAST_DAY - 14
