"""Simulated visitors of a shop: when they arrive, and what their events say of them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np

# Midnight in New York, whose clocks go forward on 8 March.
FIRST_DAY: Final = datetime(2026, 2, 25, 5, 0, tzinfo=UTC)
VISITORS_A_DAY: Final = 270
COUNTRIES: Final = (("US", "NY", 0.45), ("US", "CA", 0.2), ("CA", "ON", 0.15), ("DE", "BE", 0.2))
MOBILE: Final = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
)
DESKTOP: Final = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
AGENTS: Final = (
    (f"{MOBILE} Version/18.3 Mobile/15E148 Safari/604.1", 0.4),
    (f"{DESKTOP} Chrome/133.0.0.0 Safari/537.36", 0.43),
    ("Mozilla/5.0 (X11; Linux x86_64; rv:135.0) Gecko/20100101 Firefox/135.0", 0.15),
    ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", 0.02),
)
CAMPAIGNS: Final = (
    ("", 0.6),
    ("?utm_source=newsletter&utm_medium=email&utm_campaign=spring", 0.25),
    ("?utm_source=ads&utm_medium=cpc", 0.15),
)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor, and what each of the visitor's events says of them."""

    id: str
    arrives: datetime
    taste: float
    user_id: str | None
    page: str
    attributes: dict[str, Any] = field(default_factory=dict)


def visitors_of(day: int, rng: np.random.Generator) -> list[Visitor]:
    """The visitors who arrive on a day, in order of arrival."""
    seconds = np.sort(rng.uniform(0, 86_000, VISITORS_A_DAY))
    return [_visitor(f"v{day:02d}-{place:03d}", day, float(at), rng) for place, at in enumerate(seconds)]


def _visitor(name: str, day: int, seconds: float, rng: np.random.Generator) -> Visitor:
    country, region, _ = COUNTRIES[rng.choice(len(COUNTRIES), p=[one[-1] for one in COUNTRIES])]
    attributes: dict[str, Any] = {
        "user_agent": AGENTS[rng.choice(len(AGENTS), p=[one[-1] for one in AGENTS])][0],
        "country": country,
        "region": region,
        "visitor_type": "returning" if rng.random() < 0.4 else "new",
    }
    if rng.random() < 0.7:
        attributes["plan"] = "pro" if rng.random() < 0.3 else "free"
    if rng.random() < 0.2:
        attributes["custom_dimensions"] = {"team_size": int(rng.integers(1, 6))}
    campaign = CAMPAIGNS[rng.choice(len(CAMPAIGNS), p=[one[-1] for one in CAMPAIGNS])][0]
    return Visitor(
        id=name,
        arrives=FIRST_DAY + timedelta(days=day, seconds=seconds),
        taste=float(rng.gamma(4, 0.25)),
        user_id=f"u-{name}" if rng.random() < 0.2 else None,
        page=f"https://shop.example/product{campaign}",
        attributes=attributes,
    )
