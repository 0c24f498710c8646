"""Charts of an experiment's page, their pictures, and the export of its visitors."""

import asyncio
import subprocess
from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient

from api import chart_pictures
from api.chart_pictures import ChartPictures
from pipeline.rollup.publications import Publications
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.published import Published
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.test_experiments import send_visitors


def test_a_goal_whose_days_are_not_kept_has_no_chart_of_them(
    customer: Customer, project: str, browser: TestClient
) -> None:
    config = {"event_name": "order", "measure": "count"}
    goals = [{"name": "Orders", "goal_type": "custom_event", "config": config}]
    path = customer.an_experiment(project, goals=goals)
    assert customer.post(f"{path}/start").status_code == 200
    send_visitors(customer, path, {0: (20, 0), 1: (20, 0)})
    order = {"type": "custom_event", "event_name": "order"}
    data = customer.data_of(path)
    batch = [
        {
            "event_id": f"o-{data['id']}-{place}-{number}",
            "visitor_id": f"{data['id']}-{place}-{number}",
            **order,
        }
        for place in (0, 1)
        for number in range(9 + place)
    ]
    assert (
        customer.post("/sdk/track", {"project_id": path.split("/")[2], "batch": batch}).json()["rejected"]
        == 0
    )
    page = browser.get(path).text
    assert "charts/improvements" in page
    for chart in ("lift", "rates"):
        assert f"charts/{chart}" not in page
        assert browser.get(f"{path}/charts/{chart}/light.json").status_code == 404
    assert browser.get(f"{path}/charts/improvements/light.json").status_code == 200


def test_visitors_and_charts_are_exported(
    customer: Customer,
    experiment: str,
    browser: TestClient,
    sign_in: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("drawn again")

    send_visitors(customer, experiment, {0: (30, 10), 1: (30, 12)})
    page = browser.get(experiment).text
    exported = browser.get(f"{experiment}/export?format=csv")
    assert f'href="{experiment}/export?format=csv"' in page
    assert len(exported.text.splitlines()) == 61
    assert exported.headers["content-disposition"].startswith("attachment")
    assert browser.get(f"{experiment}/export?format=parquet").content[:4] == b"PAR1"
    for form, start in {"png": b"\x89PNG", "svg": b"<svg"}.items():
        address = f"{experiment}/charts/improvements/light.{form}"
        assert address in page
        drawn = browser.get(address).content
        assert drawn.startswith(start)
        with monkeypatch.context() as patched:
            # A picture is drawn once for each chart.
            patched.setattr(subprocess, "run", refuse)
            assert browser.get(address).content == drawn
    assert browser.get(f"{experiment}/charts/improvements/light.exe").status_code == 404
    assert browser.get(f"{experiment}/export?format=exe").status_code == 404
    assert browser.get(f"{experiment}/export?device_type=nonsense").status_code == 422
    reader = sign_in(customer.with_key("experiments:read").token)
    assert reader.get(f"{experiment}/export?format=csv").status_code == 403


def test_pictures_go_with_the_results_and_the_project_that_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bytes] = []

    def draw(content: bytes, _form: str) -> bytes:
        drawn.append(content)
        return content

    monkeypatch.setattr(chart_pictures, "_picture", draw)
    publications = Publications(Mock(spec=Warehouse))
    pictures = ChartPictures(publications)

    async def draw_both() -> None:
        for experiment in ("exp_1", "exp_2"):
            await pictures.draw(experiment, {"of": experiment}, "png")

    asyncio.run(draw_both())
    with publications.replacing(["exp_1"]) as only_records:
        only_records["exp_1"] = Mock(spec=Published)
    asyncio.run(draw_both())
    assert len(drawn) == 2
    with publications.replacing(["exp_1"]):
        pass
    assert pictures.kept == (b'{"of": "exp_2"}',)
    asyncio.run(draw_both())
    assert len(drawn) == 3
