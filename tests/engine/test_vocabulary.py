"""Closed vocabularies."""

from engine.vocabulary import Direction, words


def test_words_are_in_order() -> None:
    assert words(Direction) == ("increase", "decrease")
