"""Cast of the simulated year: forty tests in groups and two of everybody, with their true effects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

# `plain` tests run at once; a `ramp` grows by steps and ends on harm; `broken` loses visitors of one variant.
Kind = Literal["plain", "ramp", "broken"]
WEEKS_A_YEAR: Final = 52
WEEKS_A_TEST: Final = 7
# Two tests of a group run side by side, each with half of its visitors.
LANES: Final = 2
PERCENT: Final = 50
RAMP: Final = {
    "steps": [{"percent": 20, "hours": 96}, {"percent": 50, "hours": 96}, {"percent": 100}],
    "on_harm": "rollback",
}
PURCHASE: Final = {"name": "Purchase", "goal_type": "custom_event", "config": {"event_name": "purchase"}}


@dataclass(frozen=True, slots=True)
class Role:
    """A test: its group, if it has one, and the true change of the rate of purchases, as a share."""

    group: str | None
    name: str
    effect: float = 0.0
    kind: Kind = "plain"


CAST: Final = (
    Role("checkout", "One page", 0.35),
    Role("checkout", "Phone required", -0.5, "ramp"),
    Role("checkout", "Guest first"),
    Role("checkout", "No coupon field"),
    Role("checkout", "Wallets", 0.25),
    Role("checkout", "Trust marks"),
    Role("checkout", "Address look-up", 0.0, "broken"),
    Role("checkout", "Progress bar"),
    Role("checkout", "Gift wrap", 0.0, "ramp"),
    Role("checkout", "Summary on top"),
    Role("checkout", "Survey", -0.05),
    Role("checkout", "Fewer fields"),
    Role("checkout", "Pay later"),
    Role("product", "Larger pictures"),
    Role("product", "Sizes first", 0.25),
    Role("product", "Reviews on top"),
    Role("product", "Video", -0.05),
    Role("product", "Sticky button"),
    Role("product", "Stock shown"),
    Role("product", "Autoplay", -0.5, "ramp"),
    Role("product", "Delivery date", 0.25, "ramp"),
    Role("product", "Zoom"),
    Role("product", "Sets"),
    Role("product", "Short texts"),
    Role("product", "Size advice"),
    Role("product", "Colours"),
    Role("product", "Similar items"),
    Role("home", "New hero"),
    Role("home", "Search first", 0.25),
    Role("home", "Best sellers"),
    Role("home", "Countdown", -0.05),
    Role("home", "Brand story"),
    Role("home", "Season banner"),
    Role("home", "Menu of icons", 0.0, "ramp"),
    Role("home", "Sign-up layer", -0.1),
    Role("home", "Categories"),
    Role("home", "Newsletter"),
    Role("home", "Dark theme"),
    Role("home", "Local shops"),
    Role("home", "Personal list"),
)
GROUPS: Final = tuple(dict.fromkeys(role.group for role in CAST if role.group is not None))
# Each helps alone; a visitor who has the variants of both is harmed by TOGETHER instead.
PAIR: Final = (Role(None, "Member price", 0.1), Role(None, "Bundle offer", 0.1))
TOGETHER: Final = -0.2
PAIR_STARTS: Final = 22
# Weeks with twice as many visitors.
SALE: Final = range(PAIR_STARTS, PAIR_STARTS + 4)


def starts() -> Iterator[tuple[int, Role]]:
    """Yield each test with the week of its start: those of a group follow each other in its lanes."""
    for group in GROUPS:
        for place, role in enumerate(one for one in CAST if one.group == group):
            yield place // LANES * WEEKS_A_TEST, role
    for role in PAIR:
        yield PAIR_STARTS, role


def draft_of(role: Role, group_id: str | None) -> dict[str, Any]:
    """Return the draft of a test over REST: a page of its own, purchases as its goal, and its sample."""
    sample, effect = (4_000, 15.0) if group_id else (20_000, 5.0)
    variants: list[dict[str, Any]] = [
        {"name": "Control", "is_control": True},
        {"name": role.name, "changes": [{"selector": "h1", "action": "modify_text", "value": role.name}]},
    ]
    return {
        "name": role.name,
        "url": f"https://shop.example/{role.group or 'all'}/{role.name.lower().replace(' ', '-')}",
        "tags": [role.group or "all"],
        "group": {"id": group_id, "percent": PERCENT} if group_id else None,
        "ramp": RAMP if role.kind == "ramp" else None,
        "variants": variants,
        "goals": [{**PURCHASE, "is_primary": True}],
        "statistics": {"planned_sample": sample, "minimum_effect_percent": effect},
    }
