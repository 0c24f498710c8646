import pytest

from engine.design.exchange_rates import minor_unit_factors
from engine.errors import InvalidDesignError
from tests.builders import a_project


def test_a_minor_unit_is_worth_so_many_of_the_goals() -> None:
    rates = {"EUR": 1.08, "JPY": 0.0065, "KWD": 3.25}
    assert minor_unit_factors("USD", rates, "USD") == pytest.approx(
        # A yen is a minor unit itself; a fils is a thousandth of a dinar.
        {"EUR": 1.08, "JPY": 0.65, "KWD": 0.325}
    )
    # Other pairs cross through the project's currency.
    crossed = minor_unit_factors("USD", rates, "JPY")
    assert crossed == pytest.approx({"USD": 1 / 0.65, "EUR": 1.08 / 0.65, "KWD": 0.325 / 0.65})


def test_a_currency_without_a_rate_is_left_out() -> None:
    assert minor_unit_factors("USD", {}, "USD") == {}
    assert minor_unit_factors("USD", {"EUR": 1.08}, "GBP") == {}
    assert minor_unit_factors("USD", {"USD": 7.0}, "USD") == {}


@pytest.mark.parametrize(
    ("rates", "field", "message"),
    [
        ({"EURO": 1.0}, "exchange_rates.EURO", "ISO 4217"),
        ({"EUR": 0}, "exchange_rates.EUR", "must be a number"),
        ({"EUR": "1.08"}, "exchange_rates.EUR", "must be a number"),
        ({"EUR": float("nan")}, "exchange_rates.EUR", "must be a number"),
        ([1.08], "exchange_rates", "must map currencies to rates"),
    ],
)
def test_what_is_no_rate_is_refused(rates: object, field: str, message: str) -> None:
    with pytest.raises(InvalidDesignError) as caught:
        a_project(settings={"exchange_rates": rates})
    (problem,) = caught.value.problems
    assert problem.field == f"settings.{field}"
    assert message in problem.message


def test_a_project_has_its_rates_or_none() -> None:
    assert a_project().exchange_rates == {}
    assert a_project(settings={"exchange_rates": {"EUR": 1.08}}).exchange_rates == {"EUR": 1.08}
