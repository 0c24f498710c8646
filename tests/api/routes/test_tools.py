from tests.api.customers import Customer
from tests.api.request_bodies import error_of, fields_of


def test_sample_size_is_computed_in_percents(customer: Customer) -> None:
    question = {"baseline_rate": 5, "effect": 10, "daily_visitors": 2000}
    assert customer.post("/tools/sample_size", question).json() == {
        "data": {
            "visitors_per_variant": 31_234,
            "visitors_total": 62_468,
            "detectable_effect": 10.0,
            "days": 32,
            "days_in_whole_weeks": 35,
        }
    }


def test_question_that_makes_no_sense_is_invalid(customer: Customer) -> None:
    answer = customer.post("/tools/sample_size", {"baseline_rate": 5, "effect": 10, "power": "most"})
    assert fields_of(error_of(answer, 422, "validation_error")) == ["power"]


def test_either_reading_scope_may_ask(customer: Customer) -> None:
    question = {"baseline_rate": 5, "effect": 10}
    for scope in ("account:read", "experiments:read"):
        assert customer.with_key(scope).post("/tools/sample_size", question).status_code == 200
    error_of(customer.with_key("results:read").post("/tools/sample_size", question), 403, "forbidden")
