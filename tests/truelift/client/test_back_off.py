"""Back-off: longer with each failure, as long as the service asks, and from the start after a success."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from truelift.client.back_off import FIRST_SECONDS, LONGEST_SECONDS, BackOff, retry_after


def test_delays_double_up_to_the_longest() -> None:
    back_off = BackOff()
    delays = [back_off.after_failure() for _ in range(40)]
    assert delays[-1] <= LONGEST_SECONDS < FIRST_SECONDS * 2.0 ** len(delays)
    for failures, delay in enumerate(delays):
        longest = min(FIRST_SECONDS * 2.0**failures, LONGEST_SECONDS)
        assert longest / 2 <= delay <= longest


def test_a_success_begins_anew() -> None:
    back_off = BackOff(failures=20)
    back_off.after_success()
    assert back_off.after_failure() <= FIRST_SECONDS


def test_the_service_says_when_to_come_back() -> None:
    assert BackOff().after_failure({"retry-after": "17"}) == 17
    assert BackOff().after_failure({"retry-after": "86400"}) == LONGEST_SECONDS


def test_a_date_to_come_back_is_understood() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=90)
    asked = retry_after({"retry-after": format_datetime(moment, usegmt=True)})
    assert asked is not None
    assert 60 < asked <= 90


@pytest.mark.parametrize("value", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_no_answer_has_the_client_ask_without_a_pause(value: str) -> None:
    back_off = BackOff(failures=3)
    assert back_off.after_failure({"retry-after": value}) >= 4 * FIRST_SECONDS


@pytest.mark.parametrize("value", ["Mon, 01 Jan 99999999999 00:00:00 GMT", "", "soon", "-5", "1.5"])
def test_what_is_no_time_is_ignored(value: str) -> None:
    assert retry_after({"retry-after": value}) is None
