"""Requests for share links: for how many days one works, and whether it shows money."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar, Final

from engine.validation.records import RecordRule, validate
from engine.validation.values import flag, whole

DEFAULT_DAYS: Final = 30
MOST_DAYS: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRequest:
    """A share link to create."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    days: Annotated[int, whole(1, MOST_DAYS).described("Days it works.")] = DEFAULT_DAYS
    shows_money: Annotated[bool, flag.described("Show amounts.")] = False

    def __post_init__(self) -> None:
        validate(self)

    @property
    def lifetime(self) -> timedelta:
        """The time for which the link works."""
        return timedelta(days=self.days)
