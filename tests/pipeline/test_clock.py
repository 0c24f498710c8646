from datetime import UTC, datetime, timedelta

from pipeline.clock import utc_now, utc_now_us


def test_now_is_aware_and_in_utc() -> None:
    assert utc_now().utcoffset() == timedelta(0)


def test_both_clocks_agree() -> None:
    before, now_us, after = utc_now(), utc_now_us(), utc_now()
    assert before <= datetime.fromtimestamp(now_us / 1e6, UTC) + timedelta(microseconds=1)
    assert datetime.fromtimestamp(now_us / 1e6, UTC) <= after + timedelta(microseconds=1)
