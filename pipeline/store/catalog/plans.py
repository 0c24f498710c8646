"""Plans with their limits, and subscription statuses."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

PlanKey = Literal["starter", "growth", "scale"]
SubscriptionStatus = Literal[
    "active", "trialing", "past_due", "canceled", "unpaid", "incomplete_expired", "paused"
]

SUBSCRIPTION_STATUSES: Final[tuple[SubscriptionStatus, ...]] = get_args(SubscriptionStatus)
SERVED_STATUSES: Final[frozenset[SubscriptionStatus]] = frozenset({"active", "trialing", "past_due"})


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: its display name and limits, which an account may override."""

    name: str
    max_projects: int
    rate_limit_per_minute: int


PLANS: Final[dict[PlanKey, Plan]] = {
    "starter": Plan("Starter", max_projects=3, rate_limit_per_minute=100),
    "growth": Plan("Growth", max_projects=10, rate_limit_per_minute=500),
    "scale": Plan("Scale", max_projects=50, rate_limit_per_minute=2_000),
}
