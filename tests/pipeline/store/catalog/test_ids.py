from pipeline.store.catalog.ids import free_name


def test_free_name_is_the_wanted_one_or_the_first_number_free() -> None:
    assert free_name("a", []) == "a"
    assert free_name("a", ["a", "a-2", "a-4"]) == "a-3"
