"""Share of the time in which a connection is in use."""

from pipeline.store.warehouse.connections.use_time import UseTime


def test_the_time_of_all_blocks_is_a_share_of_what_has_passed_since_it_was_asked_for() -> None:
    now = [0.0]
    use = UseTime(lambda: now[0])
    with use.using():
        now[0] = 1.0
        with use.using():
            now[0] = 2.0
    now[0] = 10.0
    assert use.take_share() == 0.3
    with use.using():
        now[0] = 14.0
        # A block counts before it ends.
        assert use.take_share() == 1.0
    now[0] = 18.0
    assert use.take_share() == 0.0


def test_no_time_is_no_idleness() -> None:
    assert UseTime(lambda: 5.0).take_share() == 1.0
