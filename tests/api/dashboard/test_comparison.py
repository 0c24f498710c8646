"""Experiments side by side: verdicts, changes on one axis, and the goals that they share by name."""

import re

import pytest
from fastapi.testclient import TestClient

from api.dashboard.formats import ABSENT
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.test_experiments import send_visitors


def goals(*names: str) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "goal_type": "custom_event",
            "is_primary": place == 0,
            "config": {"event_name": "purchase" if place == 0 else "other"},
        }
        for place, name in enumerate(names)
    ]


def ids(*paths: str) -> str:
    return "&".join(f"experiment={path.rpartition('/')[2]}" for path in paths)


def cells(page: str, head: str) -> list[str]:
    """The texts of the row with a head."""
    (row,) = re.findall(rf'<tr role="row"><th scope="row"[^>]*>{head}.*?</tr>', page, re.DOTALL)
    found = re.findall(r"<td.*?</td>", row, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", one).split()) for one in found]


def test_experiments_stand_side_by_side(customer: Customer, project: str, browser: TestClient) -> None:
    first = customer.an_experiment(project, name="One page", goals=goals("Order", "Refund", "v1.5 seen"))
    second = customer.an_experiment(
        project, name="Free <b>", goals=goals("order", "Cart", " REFUND ", "V1.5  seen")
    )
    draft = customer.an_experiment(project, name="Later", goals=goals("Visits"))
    for path, wins in ((first, 60), (second, 30)):
        customer.post(f"{path}/start")
        send_visitors(customer, path, {0: (300, 30), 1: (300, wins)})
    page = browser.get(f"{project}/compare?{ids(first, second, draft)}")
    assert page.status_code == 200
    text = page.text
    assert re.findall(r'<th scope="col" role="columnheader"><a href="([^"]+)">', text) == [
        first,
        second,
        draft,
    ]
    verdicts = cells(text, "Verdict")
    assert verdicts[2] == "Draft No results before the start."
    for path, cell in zip((first, second), verdicts, strict=False):
        headline = customer.data_of(f"{path}/results")["decision_summary"]["headline"]
        assert headline.split("'")[0] in cell.replace("&#39;", "'")
    assert cells(text, "From, to") == ["10.00% → 20.00%", "10.00% → 10.00%", ABSENT]
    assert "+100%" in cells(text, "Primary goal")[0].replace(".0", "")
    # By name, whatever the case and the spaces; those of one experiment alone are left out.
    assert "Goals in common" in text
    assert len(cells(text, "Refund")) == len(cells(text, "v1.5 seen")) == 3
    assert ">Cart<" not in text
    assert ">Visits<" not in text
    assert "<b>" not in text.partition("<h1>")[0]
    assert "Free &lt;b&gt;" in text
    assert text.count('class="sub">Order, ') == 1


def test_the_list_leads_to_a_comparison_without_a_script(
    customer: Customer, project: str, browser: TestClient
) -> None:
    paths = [customer.an_experiment(project, name=name) for name in ("One", "Two")]
    listed = browser.get(f"{project}?status=all").text
    assert f'<form id="compare" class="row" action="{project}/compare">' in listed
    boxes = re.findall(r'form="compare" type="checkbox" name="experiment" value="([^"]+)"', listed)
    assert {f"{project}/experiments/{one}" for one in boxes} == {*paths}
    # The same one twice is one, and four are too many for a screen.
    for query in ("", ids(paths[0]), ids(paths[0], paths[0]), "&".join(f"experiment={n}" for n in range(4))):
        answer = browser.get(f"{project}/compare?{query}")
        assert (answer.status_code, "two or three" in answer.text) == (422, True)
    assert browser.get(f"{project}/compare?{ids(*paths)}").status_code == 200


@pytest.mark.parametrize("scopes", [("projects:read", "experiments:read"), ("projects:read", "results:read")])
def test_a_comparison_needs_the_permissions_of_results(
    scopes: tuple[str, ...], customer: Customer, project: str, sign_in: SignIn
) -> None:
    paths = [customer.an_experiment(project, name=name) for name in ("One", "Two")]
    reader = sign_in(customer.with_key(*scopes).token)
    assert reader.get(f"{project}/compare?{ids(*paths)}").status_code == 403


def test_experiments_of_another_project_are_not_found(
    customer: Customer, project: str, browser: TestClient
) -> None:
    here, there = customer.an_experiment(project), customer.an_experiment(customer.a_project())
    assert browser.get(f"{project}/compare?{ids(here, there)}").status_code == 404
