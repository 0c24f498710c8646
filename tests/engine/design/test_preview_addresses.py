"""Addresses that show a variant: of the page where it is one, else of the site."""

import pytest

from engine.design.preview_addresses import PARAMETER, preview_address
from tests.builders import an_experiment
from tests.source_tree import ROOT

SITE = "https://shop.example/"


@pytest.mark.parametrize(
    ("match_type", "url", "address"),
    [
        ("exact", "https://shop.example/a", "https://shop.example/a?{}"),
        ("exact", "/a?b=c#d", "https://shop.example/a?b=c&{}#d"),
        ("starts_with", "/product", "https://shop.example/product?{}"),
        ("wildcard", "https://shop.example/*/x", "https://shop.example/?{}"),
        ("regex", "^/a[0-9]$", "https://shop.example/?{}"),
    ],
)
def test_the_page_has_the_parameter(match_type: str, url: str, address: str) -> None:
    experiment = an_experiment(url=url, url_match_type=match_type)
    shown = preview_address(experiment, experiment.variants[1], SITE)
    assert shown == address.format("truelift_preview=exp_1:var_1")


def test_the_snippet_reads_that_parameter() -> None:
    script = (ROOT / "api/sdk/browser/forced_variants.js").read_text()
    assert f'PARAMETER = "{PARAMETER}"' in script
