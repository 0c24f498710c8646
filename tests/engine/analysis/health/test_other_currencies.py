import pytest

from engine.analysis.evidence.other_currencies import OtherCurrencies
from engine.analysis.health.check_result import CheckResult
from engine.analysis.health.other_currencies import other_currencies
from tests.builders import a_goal, an_experiment
from tests.observations import check_input, observed

EXPERIMENT = an_experiment(goals=(a_goal(goal_type="revenue", name="Revenue"),))


def found(*others: OtherCurrencies) -> CheckResult:
    return other_currencies(
        check_input(EXPERIMENT, observed([500, 500], [50, 50], other_currencies=tuple(others)))
    )


@pytest.mark.parametrize(("number", "status"), [(9, "warning"), (10, "alarm"), (1000, "alarm")])
def test_a_hundredth_of_the_orders_is_an_alarm(number: int, status: str) -> None:
    check = found(OtherCurrencies(goal=0, orders=1000, others={"EUR": number}))
    assert check.status == status
    assert f"{number:,} in EUR" in check.message
    assert "exchange_rates" in check.message


def test_the_number_and_the_currencies_are_told() -> None:
    check = found(OtherCurrencies(goal=0, orders=400, others={"SEK": 3, "EUR": 1}))
    assert check.message.startswith("1% of the orders of 'Revenue' are not counted")
    assert "1 in EUR and 3 in SEK" in check.message
    assert check.details["goals"] == [{"goal_id": "goal_1", "orders": 400, "others": {"SEK": 3, "EUR": 1}}]


def test_without_such_orders_nothing_is_wrong() -> None:
    assert found().status == "ok"
    assert (
        other_currencies(check_input(EXPERIMENT, observed([500, 500], [50, 50]))).status == "not_applicable"
    )
