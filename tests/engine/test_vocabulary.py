"""Closed vocabularies."""

from engine.design.targeting.fields import TARGETING_FIELDS
from engine.vocabulary import SEGMENT_VALUES, Direction, words


def test_words_are_in_order() -> None:
    assert words(Direction) == ("increase", "decrease")


def test_targeting_and_segments_share_their_closed_values() -> None:
    shared = SEGMENT_VALUES.keys() & TARGETING_FIELDS.keys()
    assert shared == {"device_type", "visitor_type", "visitor_identity", "day_of_week"}
    for name in shared - {"day_of_week"}:
        assert TARGETING_FIELDS[name].enum_values == SEGMENT_VALUES[name]
    # Targeting is by the day itself, segments by weekday or weekend.
    assert len(TARGETING_FIELDS["day_of_week"].enum_values or ()) == 7
