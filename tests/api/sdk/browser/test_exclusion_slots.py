"""Exclusion groups in the browser: each visitor is in one test of a group, as on the server."""

import json
import subprocess
from typing import Any

import pytest
from playwright.sync_api import Page

from api.sdk.script_files import FOLDER
from engine.design.assignment import is_in_slots
from engine.design.exclusion.group_slots import hash_ranges
from tests import builders
from tests.api.sdk.browser.site import Site, a_config, a_page, an_experiment
from tests.api.sdk.browser.test_build import NODE
from tests.waiting import wait_until

VISITORS = [f"visitor-{number}" for number in range(60)]
HALVES = builders.some_slots(0, 5000), builders.some_slots(5000, 10_000)
# The part as the server sends it, perhaps after one that leaves out the first visitor.
CALLS = """
const asked = [];
const parts = BEFORE ? { isExcluded: (one, unit) => { asked.push(unit); return unit === VISITORS[0]; } } : {};
(PART)(parts, {});
console.log(JSON.stringify([VISITORS.filter((one) => parts.isExcluded(EXPERIMENT, one)), asked]));
"""


def described(slots: Any) -> dict[str, Any]:
    ranges = hash_ranges(slots.slots)
    return {"salt": slots.salt, "bucketing_version": slots.bucketing_version, "ranges": ranges}


@pytest.mark.parametrize("is_after_another", [False, True])
def test_the_part_leaves_out_who_is_outside_and_asks_the_next_part_about_the_others(
    *, is_after_another: bool
) -> None:
    given = {"EXPERIMENT": {"group": described(HALVES[1])}, "BEFORE": is_after_another, "VISITORS": VISITORS}
    constants = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items())
    script = constants + CALLS.replace("PART", (FOLDER / "parts" / "exclusion.js").read_text(), 1)
    answer = subprocess.run([NODE, "--eval", script], capture_output=True, check=True, timeout=60)
    excluded, asked = json.loads(answer.stdout)
    own = builders.an_experiment(group_slots=HALVES[1])
    inside = [one for one in VISITORS if is_in_slots(own, one)]
    assert 0 < len(inside) < len(VISITORS)
    assert asked == (inside if is_after_another else [])
    left_out = {*VISITORS} - {*inside} | ({VISITORS[0]} if is_after_another else set())
    assert set(excluded) == left_out


@pytest.mark.long(seconds=8)
def test_a_visitor_is_in_one_of_two_tests(site: Site, page: Page) -> None:
    site.pages["/"] = a_page(head=site.tag())
    halves = [
        an_experiment(id=f"exp_00000{place}", test_key=f"half-{place}", group=described(slots))
        for place, slots in enumerate(HALVES)
    ]
    site.config = a_config(*halves)
    own = builders.an_experiment(group_slots=HALVES[0])
    found, expected = [], []
    for number, visitor in enumerate(VISITORS[:4], start=1):
        cookie = {"name": "truelift_visitor", "value": visitor, "url": site.base}
        page.context.add_cookies([cookie])  # type: ignore[list-item] # its keys are those of a cookie
        page.goto(f"{site.base}/")
        wait_until(lambda: len(site.events("pageview")) == number)  # noqa: B023 - it is called before the next one
        found += [one["experiment_id"] for one in site.events("exposure") if one["visitor_id"] == visitor]
        # The next one has another browser.
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.context.clear_cookies()
        expected.append("exp_000000" if is_in_slots(own, visitor) else "exp_000001")
    assert (found, len(found)) == (expected, 4)
