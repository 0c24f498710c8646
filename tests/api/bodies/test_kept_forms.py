"""Kept forms: found by their secret until they are dropped, and bounded in age and bytes."""

from datetime import timedelta

from api.bodies.kept_forms import LONGEST, KeptForms
from tests.builders import NOW

TICK = timedelta(microseconds=1)


def test_a_form_is_found_by_its_secret_until_it_is_dropped() -> None:
    forms = KeptForms()
    secret = forms.keep("/a", {"name": "Typed"}, now=NOW)
    other = forms.keep("/a", {"name": "Other"}, now=NOW)
    assert secret != other
    assert len(secret) > 40
    assert forms.find("", now=NOW) is None
    found = forms.find(secret, now=NOW)
    assert found is not None
    assert (found.address, found.fields) == ("/a", {"name": "Typed"})
    for _ in range(2):
        forms.drop(secret)
        assert forms.find(secret, now=NOW) is None
    assert forms.find(other, now=NOW) is not None


def test_a_form_is_kept_for_an_hour() -> None:
    forms = KeptForms()
    secret = forms.keep("/a", {}, now=NOW)
    assert forms.find(secret, now=NOW + LONGEST - TICK) is not None
    assert forms.find(secret, now=NOW + LONGEST) is None
    assert timedelta(hours=1) == LONGEST


def test_the_oldest_forms_make_room_for_new_ones() -> None:
    forms = KeptForms(most_bytes=20_000)
    secrets = [forms.keep("/a", {"text": "x" * 1000}, now=NOW) for _ in range(10)]
    kept = [forms.find(secret, now=NOW) is not None for secret in secrets]
    assert kept == sorted(kept)
    assert 2 <= sum(kept) < 10
    huge = forms.keep("/a", {"text": "x" * 20_000}, now=NOW)
    assert forms.find(huge, now=NOW) is None
