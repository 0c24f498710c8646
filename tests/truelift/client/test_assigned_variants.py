"""Variants in a cookie: one form on servers and in browsers."""

import mmh3
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_experiment, variants_of
from truelift.client.assigned_variants import MOST, AssignedVariants

EXPERIMENT = an_experiment(id="exp_7k3v9xqa", variants=variants_of((1, 1)))


def test_a_variant_is_six_letters_of_each_id() -> None:
    kept = AssignedVariants()
    kept.keep(EXPERIMENT, "v1", "var_1")
    assert kept.cookie == "3v9xqa:var_1".replace("var_1", "var_1"[-6:])
    assert AssignedVariants(kept.cookie).variant_of(EXPERIMENT, "v1") == "var_1"


def test_each_unit_has_a_place_of_its_own() -> None:
    experiment = an_experiment(id="exp_7k3v9xqa", unit="user")
    kept = AssignedVariants()
    kept.keep(experiment, "u1", "var_1")
    assert kept.cookie == f"3v9xqa{mmh3.hash('u1', 0, signed=False)}:var_1"
    assert kept.variant_of(experiment, "u1") == "var_1"
    assert kept.variant_of(experiment, "u2") is None


def test_half_a_surrogate_pair_is_hashed_as_in_browsers() -> None:
    experiment = an_experiment(id="exp_7k3v9xqa", unit="user")
    kept = AssignedVariants()
    kept.keep(experiment, "u\ud800", "var_1")
    place = mmh3.hash("u\ufffd", 0, signed=False)
    assert kept.cookie == f"3v9xqa{place}:var_1"


def test_a_variant_that_is_gone_is_none() -> None:
    assert AssignedVariants("3v9xqa:gone00").variant_of(EXPERIMENT, "v1") is None


def test_the_newest_sixty_are_kept() -> None:
    kept = AssignedVariants()
    for number in range(100):
        kept.keep(an_experiment(id=f"exp_{number:06}"), "v1", "var_0")
    places = [pair.partition(":")[0] for pair in kept.cookie.split(".")]
    assert places == [f"{number:06}" for number in range(100 - MOST, 100)]


@given(st.text())
def test_no_cookie_is_an_error_or_sets_another(value: str) -> None:
    cookie = AssignedVariants(value).cookie
    assert cookie.isascii()
    assert not set(cookie) & set("; \r\n,=")
