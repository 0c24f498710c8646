"""Answers of the sample size calculator."""

from api.schemas.tools import SampleSize
from engine.design.planning.calculator import SampleAnswer, answer, read_question


def test_the_detectable_effect_is_rounded_to_two_decimals() -> None:
    found = answer(read_question({"baseline_rate": 5, "visitors_per_variant": 10_000}))
    described = SampleSize.of(found)
    assert found.detectable_effect is not None
    assert described.detectable_effect == round(found.detectable_effect, 2)
    assert described.visitors_total == 20_000


def test_what_no_number_of_visitors_detects_stays_null() -> None:
    nothing = SampleAnswer(
        visitors_per_variant=None,
        visitors_total=None,
        detectable_effect=None,
        days=None,
        days_in_whole_weeks=None,
    )
    assert set(SampleSize.of(nothing).model_dump().values()) == {None}
