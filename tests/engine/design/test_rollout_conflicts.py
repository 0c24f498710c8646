"""Rollouts that would change what others change, and redirects that lead in a circle."""

from typing import Any

import pytest

from engine.design.conclusion import Rollout
from engine.design.experiment import Experiment
from engine.design.lifecycle import start
from engine.design.rollout_conflicts import Beside, shipped_beside, started_beside
from engine.design.variants import Change, Variant
from engine.errors import TransitionError
from tests.builders import NOW, STARTED, an_experiment

SITE = "https://shop.example"


def a_test(id_: str, selector: str = "h1", *, to: str | None = None, **fields: Any) -> Experiment:
    """Build an experiment whose second variant changes a selector, or leads to an address."""
    action, value = ("modify_text", "Now") if to is None else ("replace", to)
    change = Change(id="chg_1", selector=selector, action=action, value=value)  # type: ignore[arg-type]
    variants = (
        Variant(id="var_0", name="Control", is_control=True),
        Variant(id="var_1", name="Treatment", changes=(change,)),
    )
    kind = "visual" if to is None else "redirect"
    return an_experiment(**{
        "id": id_, "name": id_, "test_key": id_, "type": kind, "variants": variants, "status": "running",
        **fields,
    })  # fmt: skip


def rolled_out(id_: str, selector: str = "h1", *, to: str | None = None, **fields: Any) -> Experiment:
    rollout = Rollout(id=f"rol_{id_}", variant_id="var_1", started_at=STARTED)
    return a_test(
        id_, selector, to=to, **{"status": "completed", "completed_at": NOW, "rollout": rollout, **fields}
    )


# Mine, and another one's: url and match type.
SHARED = (
    (("https://shop.example/checkout", "exact"), ("/checkout", "exact")),
    (("/checkout", "exact"), ("https://shop.example/", "starts_with")),
    (("/c", "starts_with"), ("https://shop.example/checkout", "starts_with")),
    (("/checkout", "exact"), ("check", "contains")),
    (("a$", "regex"), ("b", "contains")),
)
APART = (
    (("/checkout", "exact"), ("/cart", "exact")),
    (("/checkout", "exact"), ("^/cart", "regex")),
    (("/checkout", "starts_with"), ("/cart", "starts_with")),
    (("https://other.example/", "exact"), ("https://shop.example/", "starts_with")),
)


@pytest.mark.parametrize("pages", SHARED, ids=str)
def test_one_selector_of_one_page_is_changed_by_one_of_them(pages: Any) -> None:
    mine, its = ({"url": url, "url_match_type": kind} for url, kind in pages)
    for other in (
        a_test("other", **its),
        a_test("other", status="paused", **its),
        rolled_out("other", **its),
    ):
        with pytest.raises(TransitionError, match="end them first") as error:
            shipped_beside(rolled_out("mine", **mine), Beside([other], SITE))
        (problem,) = error.value.problems
        assert (error.value.code, problem.field) == ("rollout_conflict", "variants")
        assert "h1 is changed by the" in problem.message
        assert "'other' (other)" in problem.message
    draft = a_test("mine", status="draft", **mine)
    with pytest.raises(TransitionError, match="end them first"):
        started_beside(draft, Beside([rolled_out("other", **its)], SITE), start, now=NOW)
    # Tests beside tests are the team's own business.
    assert started_beside(draft, Beside([a_test("other", **its)], SITE), start, now=NOW).status == "running"


@pytest.mark.parametrize("pages", APART, ids=str)
def test_other_pages_and_other_selectors_go_together(pages: Any) -> None:
    mine, its = ({"url": url, "url_match_type": kind} for url, kind in pages)
    shipped = rolled_out("mine", **mine)
    assert shipped_beside(shipped, Beside([a_test("other", **its)], SITE)) is shipped
    assert shipped_beside(shipped, Beside([a_test("other", "h2", **mine)], SITE)) is shipped


def test_a_page_that_a_redirect_leaves_has_no_other_test() -> None:
    page = {"url": "/checkout"}
    for mine, other in (
        (rolled_out("mine", to="/one-page", **page), a_test("other", "h2", **page)),
        (rolled_out("mine", **page), a_test("other", to="/one-page", **page)),
    ):
        with pytest.raises(TransitionError) as error:
            shipped_beside(mine, Beside([other], SITE))
        assert [one.field for one in error.value.problems] == ["url"]


def test_redirects_lead_in_no_circle() -> None:
    there, back = rolled_out("there", to="/b", url="/a"), a_test("back", to="/a", url="/c")
    between = rolled_out("between", to="/c", url="/b")
    assert shipped_beside(there, Beside([between], SITE)) is there
    with pytest.raises(TransitionError, match="end them first") as error:
        shipped_beside(there, Beside([between, back], SITE))
    (problem,) = error.value.problems
    assert "comes back by 'between' (between), 'back' (back)" in problem.message
