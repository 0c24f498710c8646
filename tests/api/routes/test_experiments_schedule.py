"""Windows of scheduled experiments that pass before a job has seen them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from api.services import Services
from pipeline.jobs.jobs import complete_scheduled_experiments, start_scheduled_experiments
from tests.api.customers import Customer
from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"


def test_exposures_in_a_missed_window_are_answered_and_counted_alike(
    customer: Customer, services: Services, project: str
) -> None:
    begun = datetime.now(UTC)
    path = customer.an_experiment(
        project, scheduled_start_at=(begun + timedelta(hours=1)).isoformat(), scheduled_end_at=None
    )
    shop = Shop.opened_by(customer, project, path)
    assert shop.experiment["status"] == "scheduled"
    (result,) = shop.post(TRACK, {"batch": [shop.exposure()]}).json()["results"]
    assert (result["status"], result["code"]) == ("ok", "not_counted")
    window = {
        "scheduled_start_at": begun.isoformat(),
        "scheduled_end_at": datetime.now(UTC).isoformat(),
    }
    assert customer.patch(path, window).status_code == 200
    for _ in range(2):
        start_scheduled_experiments(services)
        complete_scheduled_experiments(services)
    assert customer.data_of(path)["status"] == "completed"
    assert visitors_of(customer, path) == [0, 0]
    entries = services.catalog.audit.of(shop.experiment["id"])
    assert [entry.actor for entry in entries[-2:]] == ["scheduled start", "scheduled end"]
    (late,) = shop.post(TRACK, {"batch": [shop.exposure("e2")]}).json()["results"]
    assert late["code"] == "not_counted"


def visitors_of(customer: Customer, path: str) -> list[Any]:
    return [variant["visitors"] for variant in customer.data_of(f"{path}/results/summary")["variants"]]
