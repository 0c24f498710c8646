"""Where a redirect experiment sends its visitors."""

import pytest

from engine.design.experiment import Experiment
from engine.design.pages import redirect_url
from engine.design.variants import Change
from tests.builders import a_variant, an_experiment, variants_of

PAGE = "https://shop.example/old?utm_source=mail&a=1"


def redirecting_to(target: str, *, relay_params: bool = False) -> Experiment:
    change = Change(id="chg_1", selector="body", action="replace", value=target)
    variants = (variants_of((1, 1))[0], a_variant(changes=(change,)))
    return an_experiment(type="redirect", variants=variants, relay_params=relay_params)


def test_the_control_stays() -> None:
    experiment = redirecting_to("/new")
    assert redirect_url(experiment, experiment.variants[0], PAGE) is None


@pytest.mark.parametrize(
    ("target", "relay_params", "expected"),
    [
        ("/new", False, "https://shop.example/new"),
        ("https://other.example/new?b=2", False, "https://other.example/new?b=2"),
        ("/new", True, "https://shop.example/new?utm_source=mail&a=1"),
        ("/new?a=9", True, "https://shop.example/new?a=9&utm_source=mail"),
        ("/new#top", True, "https://shop.example/new?utm_source=mail&a=1#top"),
    ],
)
def test_a_variant_goes_to_its_target(target: str, expected: str, *, relay_params: bool) -> None:
    experiment = redirecting_to(target, relay_params=relay_params)
    assert redirect_url(experiment, experiment.variants[1], PAGE) == expected


@pytest.mark.parametrize("page", ["", "not a page", "https://[broken"])
def test_from_a_page_that_is_none_only_an_absolute_target_is_reached(page: str) -> None:
    relative, absolute = redirecting_to("/new"), redirecting_to("https://other.example/new")
    assert redirect_url(relative, relative.variants[1], page) is None
    assert redirect_url(absolute, absolute.variants[1], page) == "https://other.example/new"


def test_only_a_redirect_experiment_redirects() -> None:
    change = Change(id="chg_1", selector="h1", action="replace", value="<h2>Hello</h2>")
    visual = an_experiment(variants=(variants_of((1, 1))[0], a_variant(changes=(change,))))
    assert redirect_url(visual, visual.variants[1], PAGE) is None
