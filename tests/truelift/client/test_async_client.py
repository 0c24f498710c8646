"""The client for asyncio against a real service."""

import asyncio
from collections import Counter

from tests.truelift.client.conftest import RunningExperiment
from tests.waiting import wait_until_async
from truelift.client.async_client import AsyncClient


def test_decisions_exposures_and_events_arrive(experiment: RunningExperiment) -> None:
    async def serve() -> Counter[str | None]:
        shown: Counter[str | None] = Counter()
        async with AsyncClient(experiment.url, **experiment.connection) as client:
            assert await client.wait_until_ready(60)
            for number in range(30):
                shown[client.variant(experiment.test_key, f"visitor-{number}")] += 1
                client.track(f"visitor-{number}", "purchase")
            assert await client.flush(60)
        return shown

    shown = asyncio.run(serve())
    assert experiment.counted() == dict(shown)
    assert experiment.counted("conversions") == dict(shown)


def test_threads_may_send_events(experiment: RunningExperiment) -> None:
    async def serve() -> None:
        async with AsyncClient(experiment.url, **experiment.connection) as client:
            assert await client.wait_until_ready(60)
            await asyncio.to_thread(client.variant, experiment.test_key, "v1")
            await wait_until_async(lambda: client.unsent == 0)

    asyncio.run(serve())
    assert sum(experiment.counted().values()) == 1


def test_a_change_of_the_experiment_arrives(experiment: RunningExperiment) -> None:
    async def serve() -> None:
        async with AsyncClient(experiment.url, **experiment.connection, poll_seconds=0.05) as client:
            assert await client.wait_until_ready(60)
            await asyncio.to_thread(experiment.customer.post, f"{experiment.path}/complete")
            await wait_until_async(lambda: not client.has_experiment(experiment.test_key))

    asyncio.run(serve())


def test_without_a_service_it_closes_in_time_and_tells_what_is_lost(experiment: RunningExperiment) -> None:
    async def serve() -> bool:
        client = AsyncClient("http://127.0.0.1:9", **experiment.connection)
        await client.start()
        await client.start()
        client.track("v1", "purchase")
        assert not await client.wait_until_ready(0.01)
        assert client.decide(experiment.test_key, "v1").variant is None
        return await client.close(0.01)

    assert not asyncio.run(serve())


def test_what_was_tracked_before_the_start_is_sent(experiment: RunningExperiment) -> None:
    async def serve() -> bool:
        client = AsyncClient(experiment.url, **experiment.connection)
        client.track("v1", "purchase")
        await client.start()
        return await client.close(60)

    assert asyncio.run(serve())


def test_a_close_that_is_cancelled_ends_the_tasks(experiment: RunningExperiment) -> None:
    async def serve() -> set[str]:
        async with asyncio.timeout(60):
            client = AsyncClient("http://127.0.0.1:9", **experiment.connection)
            await client.start()
            client.track("v1", "purchase")
            closing = asyncio.create_task(client.close(3600))
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            await wait_until_async(lambda: not client_tasks())
            return client_tasks()

    def client_tasks() -> set[str]:
        names = {task.get_name() for task in asyncio.all_tasks()}
        return {name for name in names if name.startswith("truelift-client")}

    assert asyncio.run(serve()) == set()
