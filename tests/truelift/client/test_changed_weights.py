"""Weights that changed on a running service: clients of other processes keep every visitor's variant."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.api.customers import Customer
from tests.truelift.client.conftest import RunningExperiment, running_experiment
from tests.truelift.client.relay import relayed
from tests.waiting import wait_until_async
from truelift.client.async_client import AsyncClient
from truelift.client.client import Client

VISITORS = [f"visitor-{number}" for number in range(40)]
Variants = dict[str, str | None]


@contextmanager
def a_client(experiment: RunningExperiment, url: str | None = None) -> Iterator[Client]:
    """A client of a process that has decided nothing yet."""
    with Client(url or experiment.url, **experiment.connection) as client:
        assert client.wait_until_ready(60)
        yield client


def shown(client: Client, experiment: RunningExperiment) -> Variants:
    return {visitor: client.variant(experiment.test_key, visitor) for visitor in VISITORS}


@pytest.fixture
def changed(customer: Customer) -> tuple[RunningExperiment, Variants]:
    """An experiment whose weights changed after the visitors came, and the variants that they had."""
    experiment = running_experiment(customer)
    with a_client(experiment) as client:
        before = shown(client, experiment)
        assert client.flush(60)
    control, treatment = customer.data_of(experiment.path)["variants"]
    weights = [{"id": control["id"], "weight": 1}, {"id": treatment["id"], "weight": 9}]
    customer.post(f"{experiment.path}/pause")
    assert customer.patch(experiment.path, {"variants": weights}).status_code == 200
    assert customer.post(f"{experiment.path}/resume").status_code == 200
    assert len(set(before.values())) == 2
    return experiment, before


def test_after_a_restart_every_visitor_keeps_the_variant_and_is_asked_about_once(
    changed: tuple[RunningExperiment, Variants],
) -> None:
    experiment, before = changed
    with relayed(experiment.url) as relay, a_client(experiment, relay.url) as client:
        assert shown(client, experiment) == before
        asked = relay.requests["init"]
        assert 0 < asked < len(VISITORS)
        assert shown(client, experiment) == before
        assert relay.requests["init"] == asked
        assert client.flush(60)
    assert sum(experiment.counted().values()) == len(VISITORS)
    assert experiment.counted() == {name: list(before.values()).count(name) for name in set(before.values())}


def test_two_processes_agree_on_old_and_on_new_visitors(changed: tuple[RunningExperiment, Variants]) -> None:
    experiment, before = changed
    with a_client(experiment) as one, a_client(experiment) as other:
        assert shown(one, experiment) == shown(other, experiment) == before
        new = [f"new-{number}" for number in range(40)]
        found = [[client.variant(experiment.test_key, visitor) for visitor in new] for client in (one, other)]
        assert found[0] == found[1]
        assert found[0].count("Treatment") > len(new) / 2


def test_without_a_network_nobody_is_shown_another_variant_or_counted(
    changed: tuple[RunningExperiment, Variants], caplog: pytest.LogCaptureFixture
) -> None:
    experiment, before = changed
    with relayed(experiment.url) as relay, a_client(experiment, relay.url) as client:
        relay.status = 503
        found = shown(client, experiment)
        lost = [visitor for visitor in VISITORS if found[visitor] is None]
        assert 0 < len(lost) < len(VISITORS)
        assert all(found[one] == before[one] for one in VISITORS if one not in lost)
        assert client.unsent == len(VISITORS) - len(lost)
        assert caplog.text.count("the service does not tell their first variants") == 1
        relay.status = None
        assert client.flush(60)


def test_without_waiting_a_decision_takes_the_visitor_out_and_the_next_one_knows(
    changed: tuple[RunningExperiment, Variants],
) -> None:
    experiment, before = changed

    async def serve() -> None:
        async with AsyncClient(experiment.url, **experiment.connection) as client:
            assert await client.wait_until_ready(60)
            first = {visitor: client.variant(experiment.test_key, visitor) for visitor in VISITORS}
            assert {first[one] for one in VISITORS if first[one] != before[one]} == {None}
            for visitor in VISITORS:
                assert await client.recall(visitor)
            assert {one: client.variant(experiment.test_key, one) for one in VISITORS} == before

    asyncio.run(serve())


def test_the_background_answers_the_next_decision(changed: tuple[RunningExperiment, Variants]) -> None:
    experiment, before = changed

    async def serve() -> None:
        async with AsyncClient(experiment.url, **experiment.connection) as client:
            assert await client.wait_until_ready(60)
            await wait_until_async(
                lambda: {one: client.variant(experiment.test_key, one) for one in VISITORS} == before
            )

    asyncio.run(serve())
