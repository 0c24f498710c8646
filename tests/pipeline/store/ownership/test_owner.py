from datetime import UTC, datetime

from pipeline.store.ownership.owner import Owner


def test_an_owner_is_named_by_process_host_and_time() -> None:
    owner = Owner(host="web-1", pid=4711, since=datetime(2026, 3, 2, 8, 30, tzinfo=UTC))
    assert str(owner) == "process 4711 on web-1 since 2026-03-02 08:30:00 UTC"
