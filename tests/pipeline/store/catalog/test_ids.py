import re

from pipeline.store.catalog.ids import free_name, new_id


def test_free_name_is_the_wanted_one_or_the_first_number_free() -> None:
    assert free_name("a", []) == "a"
    assert free_name("a", ["a", "a-2", "a-4"]) == "a-3"


def test_an_id_is_a_hundred_random_bits() -> None:
    ids = [new_id("exp") for _ in range(1_000)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("exp_[a-z2-7]{20}", one) for one in ids)
    # Each place takes each character: one that does not in 1,000 has a probability of 1e-11.
    assert all(
        len(set(place)) == 32 for place in zip(*(one.removeprefix("exp_") for one in ids), strict=True)
    )
