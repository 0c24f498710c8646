"""Explanations list what is served, and of the rest what covers the page."""

from pipeline.assignment.explanations import MOST_OTHERS, explain
from tests.builders import an_experiment

PAGE = "https://shop.example/"


def test_of_many_others_the_newest_are_listed_after_what_is_served() -> None:
    others = [
        an_experiment(id=f"exp_{number}", status="completed", url=PAGE) for number in range(MOST_OTHERS + 3)
    ]
    elsewhere = an_experiment(id="exp_elsewhere", status="draft", url="https://shop.example/elsewhere")
    served = an_experiment(id="exp_served", status="paused", url="https://shop.example/elsewhere")
    found = [one["id"] for one in explain([served], [*others, elsewhere], [], {}, PAGE)]
    assert found == ["exp_served", *(one.id for one in others[3:])]
