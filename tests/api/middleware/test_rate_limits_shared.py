import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from limits.errors import ConfigurationError

from api.app import create_app
from api.middleware.rate_limits import WINDOW_SECONDS, RateLimits
from pipeline.settings import Settings
from tests.api.customers import a_customer_of
from tests.api.rates import limited, rate_limit_of
from tests.api.request_bodies import error_of
from tests.redis_server import Redis


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("needs Redis: apt-get install redis-server")
    server = Redis(tmp_path)
    server.start()
    yield server
    server.stop()


def counting_at(url: str) -> RateLimits:
    return RateLimits(Settings(rate_limit_url=url))


def test_processes_share_their_counts_in_redis(redis: Redis) -> None:
    one, other = counting_at(redis.url), counting_at(redis.url)
    windows = [limits.count("account/a", 3) for limits in (one, other, one, other)]
    assert [window.used for window in windows] == [1, 2, 3, 3]
    assert [window.is_exceeded for window in windows] == [False, False, False, True]
    assert all(WINDOW_SECONDS - 2 <= window.reset_seconds <= WINDOW_SECONDS for window in windows)
    assert not other.count("account/b", 3).is_exceeded


def test_service_counts_in_redis(redis: Redis, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "store", rate_limit_url=redis.url)
    with TestClient(create_app(settings)) as client:
        customer = limited(a_customer_of(client), 3)
        assert rate_limit_of(customer.get("/projects"))[:2] == (3, 2)
        counting_at(redis.url).count(f"account/{customer.account.id}", 3)
        assert rate_limit_of(customer.get("/projects"))[:2] == (3, 0)
        error_of(customer.get("/projects"), 429, "rate_limited")


def test_each_process_counts_alone_while_redis_is_away(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits = counting_at(redis.url)
    assert limits.count("account/a", 3).used == 1
    redis.stop()
    assert [limits.count("account/a", 2).is_exceeded for _ in range(3)] == [False, False, True]
    assert caplog.text.count("counts requests alone") == 1
    redis.start()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    # What was counted before is lost with the server.
    assert limits.count("account/a", 3).used == 1


def test_place_to_count_that_is_none_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigurationError):
        counting_at("nowhere://")
