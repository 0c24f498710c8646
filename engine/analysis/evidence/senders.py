"""Senders of an experiment's events: browsers with a public key, servers, imports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class AddressCount:
    """Visitors first seen at one network address, and the kind of sender of their exposures."""

    sender: str
    visitors: int


@dataclass(frozen=True, slots=True)
class PeakMinute:
    """Most visitors first seen in one minute, and the average of a minute, by one kind of sender.

    `minutes` is the time from the first such visitor to the last.
    """

    sender: str
    visitors: int
    average: float
    minutes: int


@dataclass(frozen=True, slots=True)
class Overdrawn:
    """Visitors of a variant with more refunds than orders, on one goal, by the senders of their money.

    `goal` and `variant` are positions in the experiment; `cents` is negative.
    """

    goal: int
    variant: int
    sender: str
    visitors: int
    cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderEvidence:
    """Extremes of an experiment's visitors by the kind of sender of their events.

    A kind is `browser`, `server`, `import` or `unknown` (stored before kinds were), or several of these.
    `visitors` counts all visitors by kind. `largest` has the senders of the largest revenue of one visitor by
    positions of goal and variant. `late_visits` were not exposed, since their page was seen before the script
    came, the last of them on `last_late_day` in UTC. `dropped_attributes` were dropped from the project's
    events because of their key, such as `dropped_key`.
    """

    visitors: Mapping[str, int]
    busiest_address: AddressCount | None = None
    peaks: tuple[PeakMinute, ...] = ()
    overdrawn: tuple[Overdrawn, ...] = ()
    largest: Mapping[tuple[int, int], str]
    late_visits: int = 0
    last_late_day: date | None = None
    dropped_attributes: int = 0
    dropped_key: str | None = None
