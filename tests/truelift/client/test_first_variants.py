"""Questions for first variants: what they say, what answers mean, and pauses after failures."""

import msgspec
import pytest

from tests.truelift.client.configurations import an_answer
from truelift.client.first_variants import FirstVariants
from truelift.client.visitor_calls import a_visitor

ANSWER = msgspec.json.encode(
    {
        "visitor_id": "v1",
        "assignments": [
            {"experiment_id": "exp_1", "variant_id": "var_0", "status": "existing"},
            {"experiment_id": "exp_2", "variant_id": None, "status": "excluded"},
        ],
    }
)


def test_a_question_has_all_that_is_known_of_the_visitor() -> None:
    visitor = a_visitor("v1", "u1", "https://shop.example/", {"country": "DE"})
    assert msgspec.json.decode(FirstVariants(30).body(visitor)) == {
        "visitor_id": "v1",
        "user_id": "u1",
        "url": "https://shop.example/",
        "attributes": {"country": "DE"},
    }


def test_an_answer_is_the_variants_that_there_are() -> None:
    assert FirstVariants(30).take(an_answer(ANSWER), 0.0) == {"exp_1": "var_0"}


@pytest.mark.parametrize("answer", [an_answer(b"", 503), an_answer(b"", 401), an_answer(b"{}")])
def test_after_a_failure_nothing_is_asked_for_a_while_and_one_sentence_is_logged(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    first = FirstVariants(30)
    assert first.may_ask(100.0)
    for _ in range(3):
        assert first.take(answer, 100.0) is None  # type: ignore[arg-type]
    assert len(caplog.records) == 1
    assert "the service does not tell their first variants" in caplog.text
    assert not first.may_ask(100.4)
    # One caller tries again, and the others do not wait for it.
    assert first.may_ask(131.0)
    assert not first.may_ask(131.0)
    assert first.take(an_answer(ANSWER), 131.0) is not None
    assert first.may_ask(131.0)
    assert first.may_ask(131.0)


def test_a_visitor_that_the_service_refuses_says_nothing_about_the_others() -> None:
    first = FirstVariants(30)
    assert first.take(an_answer(b"", 422), 100.0) is None
    assert first.may_ask(100.0)
