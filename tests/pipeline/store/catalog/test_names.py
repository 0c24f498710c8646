from pipeline.store.catalog.names import free_name, slug_of


def test_free_name_is_the_wanted_one_or_the_first_number_free() -> None:
    assert free_name("a", []) == "a"
    assert free_name("a", ["a", "a-2", "a-4"]) == "a-3"


def test_slug_is_plain_letters_digits_and_hyphens() -> None:
    assert slug_of("  Café & Zoë 2! ") == "cafe-zoe-2"
    assert slug_of("株式会社") == "untitled"
