"""What an experiment must be to exist."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from engine.design.experiment import Experiment, StopConditions, UrlRule
from engine.design.variants import Change
from engine.errors import InvalidDesignError
from tests.builders import NOW, a_goal, a_variant, an_experiment, variants_of

STATUSES = ("draft", "scheduled", "running", "paused", "completed", "archived")


def problems_of(**overrides: Any) -> dict[str, str]:
    with pytest.raises(InvalidDesignError) as error:
        an_experiment(**overrides)
    return {problem.field: problem.message for problem in error.value.problems}


@pytest.mark.parametrize("status", STATUSES)
def test_an_experiment_survives_being_written_and_read_as_json(status: str) -> None:
    experiment = an_experiment(
        status=status,
        url_rules=(UrlRule(type="exclude", match_type="contains", value="/admin"),),
        stop_conditions=StopConditions(visitor_limit=1000),
    )
    assert msgspec.json.decode(msgspec.json.encode(experiment), type=Experiment) == experiment


def test_every_problem_is_reported_at_once() -> None:
    problems = problems_of(name=" ", confidence_level=100, traffic_allocation=-1, type="survey", goals=3)
    assert set(problems) == {"name", "confidence_level", "traffic_allocation", "type", "goals"}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", "", "is blank"),
        ("name", "x" * 256, "is 256 characters long; at most 255 are possible"),
        ("name", "a\x00b", "holds the character U+0000, which is no text; remove it"),
        ("name", "a\nb", "holds the character U+000A, which is no text; remove it"),
        ("name", "half \ud83d", "holds the character U+D83D, which is no text; remove it"),
        ("name", 7, "must be text, not 7"),
        ("custom_css", "x" * (64 * 1024 + 1), "is 65,537 characters long; at most 65,536 are possible"),
        ("traffic_allocation", 101, "must be a whole number from 0 to 100, not 101"),
        ("traffic_allocation", True, "must be a whole number from 0 to 100, not true"),
        ("traffic_allocation", 50.0, "must be a whole number from 0 to 100, not 50.0"),
        pytest.param(
            "confidence_level",
            10**5000,
            "must be a whole number from 50 to 99, not a number of more than 19 digits",
            id="a number that cannot be printed",
        ),
        ("relay_params", "yes", "must be true or false, not 'yes'"),
        ("relay_params", 1, "must be true or false, not 1"),
        ("scheduled_start_at", "soon", "must be an ISO 8601 time such as 2026-05-01T09:00:00Z, not 'soon'"),
        ("assigned_user_ids", ("mem_1", "mem_1"), "'mem_1' is there twice; each must differ"),
        (
            "test_key",
            "Not A Slug",
            "must be a slug such as checkout-button, at most 120 long, not 'Not A Slug'",
        ),
        ("stop_conditions", [], "must be an object, not a list"),
        ("targeting_rules", None, "must be an object with version 2 and root, not null"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(field: str, value: object, expected: str) -> None:
    assert expected in problems_of(**{field: value}).values()


def test_a_time_without_a_zone_is_refused() -> None:
    naive = NOW.replace(tzinfo=None)
    assert "has no time zone" in problems_of(scheduled_start_at=naive)["scheduled_start_at"]


def test_code_may_have_several_lines_and_a_name_may_not() -> None:
    assert an_experiment(custom_css="a {\n\tcolor: red;\n}").custom_css
    assert "name" in problems_of(name="two\nlines")


def test_one_variant_has_to_get_visitors() -> None:
    message = problems_of(weights=(0, 0))["variants"]
    assert message == "weights are all zero; give at least one variant a positive weight"


def test_a_weight_too_small_for_any_visitor_is_refused() -> None:
    assert "is below 0.000001" in problems_of(weights=(1, 1e-7))["variants[1].weight"]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1, True, "1", 10**400, None])
def test_a_weight_is_a_finite_positive_number(weight: Any) -> None:
    with pytest.raises(InvalidDesignError, match="weight: must be a number from 0 to 1,000,000,000, not"):
        a_variant(weight=weight)


def test_two_variants_need_one_control() -> None:
    one, two = variants_of((1, 1))
    none_marked = (a_variant(id="var_a", name="A"), two)
    both_marked = (one, a_variant(is_control=True))
    assert (
        problems_of(variants=none_marked)["variants"]
        == "none is marked as the control; set is_control on one"
    )
    assert problems_of(variants=both_marked)["variants"] == "2 are marked as the control; mark one"


def test_a_goal_needs_to_be_the_primary_one() -> None:
    assert "none is marked as the primary goal" in problems_of(goals=(a_goal(is_primary=False),))["goals"]


@pytest.mark.parametrize(("part", "count", "limit"), [("variants", 21, 20), ("goals", 51, 50)])
def test_there_is_a_limit_to_variants_and_goals(part: str, count: int, limit: int) -> None:
    parts = {
        "variants": variants_of([1] * count),
        "goals": tuple(a_goal(id=f"goal_{i}", is_primary=i == 0) for i in range(count)),
    }
    assert problems_of(**{part: parts[part]})[part] == f"holds {count} {part}; at most {limit} are possible"


def test_names_and_ids_of_variants_differ() -> None:
    one, two = variants_of((1, 1))
    twin = a_variant(id=one.id, name=two.name)
    assert set(problems_of(variants=(one, two, twin))) == {"variants[2].id", "variants[2].name"}


def test_goals_may_share_a_name() -> None:
    assert len(an_experiment(goals=(a_goal(), a_goal(id="goal_2", is_primary=False))).goals) == 2


def test_plain_values_do_not_pass_for_built_ones() -> None:
    plain = {"id": "var_a", "name": "A", "is_control": True}
    assert problems_of(variants=(plain, a_variant()))["variants"] == "must be a tuple of Variant"
    assert problems_of(variants=list(variants_of((1, 1))))["variants"] == "must be a tuple of Variant"


def test_an_element_trigger_says_which_element() -> None:
    assert "is required for the trigger click" in problems_of(trigger="click")["trigger_selector"]
    assert an_experiment(trigger="click", trigger_selector="#buy").trigger_selector == "#buy"


def test_the_end_lies_after_the_start() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    earlier = datetime(2026, 4, 1, tzinfo=UTC)
    assert "is before scheduled_start_at" in str(
        problems_of(scheduled_start_at=start, scheduled_end_at=earlier)
    )
    assert "is the same moment" in str(problems_of(scheduled_start_at=start, scheduled_end_at=start))


@pytest.mark.parametrize("status", STATUSES[1:])
def test_only_a_draft_may_lack_variants_and_goals(status: str) -> None:
    assert an_experiment(variants=(), goals=()).status == "draft"
    assert set(problems_of(status=status, variants=(), goals=())) == {"variants", "goals"}


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        ("scheduled", "scheduled_start_at"),
        ("running", "started_at"),
        ("paused", "started_at"),
        ("completed", "completed_at"),
        ("archived", "completed_at"),
    ],
)
def test_a_status_carries_its_times(status: str, missing: str) -> None:
    assert problems_of(status=status, **{missing: None}) == {
        missing: f"is required of an experiment that is {status}"
    }


@pytest.mark.parametrize(
    ("match_type", "url", "is_sound"),
    [
        ("exact", "https://shop.example/", True),
        ("exact", "/checkout", True),
        ("exact", "shop.example", False),
        ("starts_with", "ftp://shop.example", False),
        ("exact", "https://", False),
        ("exact", "https://[broken", False),
        ("exact", "https://shop.example/a b", False),
        ("contains", "checkout", True),
        ("wildcard", "*shop.example/*", True),
        ("regex", r"/p/\d+$", True),
        ("regex", "(", False),
    ],
)
def test_the_url_is_a_pattern_of_its_match_type(match_type: str, url: str, *, is_sound: bool) -> None:
    if is_sound:
        assert an_experiment(url=url, url_match_type=match_type).url == url
    else:
        assert set(problems_of(url=url, url_match_type=match_type)) == {"url"}


def test_a_url_rule_is_a_pattern_of_its_match_type() -> None:
    with pytest.raises(InvalidDesignError, match="value: must be an absolute http or https address"):
        UrlRule(type="include", match_type="exact", value="shop.example")


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "//evil.example", "/\\evil.example", "", "data:text/html,x"]
)
def test_a_redirect_goes_to_an_address(target: str) -> None:
    control, _ = variants_of((1, 1))
    change = Change(id="chg_1", selector="body", action="replace", value=target)
    variants = (control, a_variant(changes=(change,)))
    assert set(problems_of(type="redirect", variants=variants)) == {"variants[1].changes[0].value"}
    assert an_experiment(type="visual", variants=variants).type == "visual"


def test_control_and_primary_goal_are_found() -> None:
    experiment = an_experiment()
    assert experiment.control is experiment.variants[0]
    assert experiment.primary_goal is experiment.goals[0]
    assert an_experiment(variants=(), goals=()).control is None
