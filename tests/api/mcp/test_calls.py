from typing import Any

import pytest

from api.services import Services
from tests.api.broken_catalog import a_catalog_without_projects
from tests.api.customers import Customer
from tests.api.mcp.assistants import Assistant
from tests.api.request_bodies import an_experiment_body

pytestmark = pytest.mark.anyio


def ids_of(path: str) -> dict[str, str]:
    """The arguments that name the experiment at a path of the API."""
    _, _, project_id, _, id_ = path.split("/")
    return {"project_id": project_id, "id": id_}


async def test_a_tool_returns_what_the_operation_answers(
    assistant: Assistant, customer: Customer, experiment: str
) -> None:
    assert await assistant.call("get_experiment", **ids_of(experiment)) == customer.get(experiment).json()
    listed = await assistant.call("list_projects", page=1, per_page=1)
    assert listed == customer.get("/projects", page=1, per_page=1).json()


async def test_a_body_says_null_and_a_parameter_that_is_null_is_absent(
    assistant: Assistant, customer: Customer
) -> None:
    id_ = customer.a_project(reporting_timezone="Europe/Paris").rpartition("/")[2]
    changed = await assistant.call("update_project", id=id_, reporting_timezone=None, idempotency_key=None)
    assert changed["data"]["reporting_timezone"] is None
    assert (await assistant.call("list_experiments", project_id=id_, status=None, page=None))["data"] == []


async def test_an_assistant_writes_and_reads_payloads(
    assistant: Assistant, customer: Customer, project: str
) -> None:
    project_id = project.rpartition("/")[2]
    variants = [{"name": "A", "payload": {"columns": 2}}, {"name": "B", "payload": {"columns": 3}}]
    body = {"name": "Grid", "variants": variants}
    error = await assistant.fail("create_experiment", "validation_error", project_id=project_id, **body)
    assert [detail["field"] for detail in error["details"]] == ["public_variants"]
    created = await assistant.call("create_experiment", project_id=project_id, public_variants=True, **body)
    ids = {"project_id": project_id, "experiment_id": created["data"]["id"]}
    replaced = [{**one, "payload": [one["name"]]} for one in created["data"]["variants"]]
    await assistant.call("update_experiment", **ids, variants=replaced)
    told = await assistant.call("get_experiment", **ids)
    assert [one["payload"] for one in told["data"]["variants"]] == [["A"], ["B"]]


async def test_a_delete_returns_nothing(assistant: Assistant, customer: Customer, experiment: str) -> None:
    assert await assistant.call("delete_experiment", **ids_of(experiment)) is None
    assert customer.get(experiment).status_code == 404


async def test_groups_are_part_of_the_tools_of_experiments(
    assistant: Assistant, customer: Customer, project: str
) -> None:
    ids = {"project_id": project.rpartition("/")[2]}
    group = (await assistant.call("create_experiment", **ids, name="Checkout", create_group=True))["data"]
    assert (await assistant.call("list_experiments", **ids, groups=True))["data"] == [group]
    own = {**ids, "group_id": group["id"]}
    assert (await assistant.call("list_experiments", **own))["data"] == group
    renamed = await assistant.call("create_experiment", **own, name="Cart", rename_group=True)
    assert renamed["data"]["name"] == "Cart"
    # Without the argument that asks for it, a group is neither renamed nor deleted.
    await assistant.fail("create_experiment", "validation_error", **own, name="Home")
    await assistant.fail("delete_experiment", "validation_error", **own)
    assert await assistant.call("delete_experiment", **own, delete_group=True) is None
    assert customer.get(f"{project}/groups").json()["data"] == []


def without_id(error: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in error.items() if name != "request_id"}


async def test_errors_are_those_of_the_api(
    assistant: Assistant, customer: Customer, project: str, experiment: str
) -> None:
    body = {"name": "", "colour": "red", "variants": [{"name": "A", "weight": -1}]}
    project_id = project.rpartition("/")[2]
    error = await assistant.fail("create_experiment", "validation_error", project_id=project_id, **body)
    same = customer.post(f"{project}/experiments", body).json()["error"]
    assert without_id(error) == without_id(same)
    error = await assistant.fail("pause_experiment", "invalid_transition", **ids_of(experiment))
    assert without_id(error) == without_id(customer.post(f"{experiment}/pause").json()["error"])
    error = await assistant.fail("list_projects", "validation_error", per_page="many")
    assert [detail["field"] for detail in error["details"]] == ["per_page"]


async def test_a_tool_that_the_key_may_not_use_is_forbidden(customer: Customer, experiment: str) -> None:
    reader = Assistant(customer.with_key("experiments:read"))
    error = await reader.fail("start_experiment", "forbidden", **ids_of(experiment))
    assert "experiments:write" in error["message"]


async def test_a_restricted_key_reaches_its_projects_only(customer: Customer) -> None:
    reached, other = (customer.a_project().rpartition("/")[2] for _ in range(2))
    assistant = Assistant(customer.with_key(project_ids=(reached,)))
    listed = await assistant.call("list_projects")
    assert [project["id"] for project in listed["data"]] == [reached]
    await assistant.fail("get_project", "not_found", id=other)
    await assistant.fail("create_experiment", "not_found", project_id=other, **an_experiment_body())
    await assistant.fail("create_project", "forbidden", name="Third", url="https://shop.example")


async def test_objects_of_another_account_do_not_exist(stranger: Customer, experiment: str) -> None:
    await Assistant(stranger).fail("get_experiment", "not_found", **ids_of(experiment))
    await Assistant(stranger).fail("start_experiment", "not_found", **ids_of(experiment))


async def test_missing_and_unknown_arguments_are_named_at_once(assistant: Assistant) -> None:
    error = await assistant.fail("get_results", "validation_error", project_id="prj_x", devise_type="mobile")
    assert {detail["field"] for detail in error["details"]} == {"experiment_id", "devise_type"}
    error = await assistant.fail("get_project", "validation_error", id=None)
    assert [detail["field"] for detail in error["details"]] == ["project_id"]


async def test_an_id_may_be_given_by_its_short_name(
    assistant: Assistant, customer: Customer, experiment: str
) -> None:
    short = ids_of(experiment)
    long = {"project_id": short["project_id"], "experiment_id": short["id"]}
    expected = customer.get(experiment).json()
    assert await assistant.call("get_experiment", **short) == expected
    assert await assistant.call("get_experiment", **long) == expected
    assert await assistant.call("get_experiment", **{**short, **long}) == expected
    error = await assistant.fail("get_experiment", "validation_error", **{**long, "id": "exp_other"})
    assert [detail["field"] for detail in error["details"]] == ["id"]


@pytest.mark.parametrize(
    "id_", ["..", ".", "", "/", "../..", "a/b", "a%2Fb", "?page=2", "#", "\x00", "é", " ", "x" * 5_000]
)
async def test_an_id_leads_nowhere_else(
    assistant: Assistant, customer: Customer, project: str, id_: str
) -> None:
    project_id = project.rpartition("/")[2]
    await assistant.fail("delete_experiment", "not_found", project_id=project_id, id=id_)
    await assistant.fail("delete_experiment", "not_found", project_id=f"{project_id}/experiments", id=id_)
    assert customer.get(project).status_code == 200


async def test_an_argument_with_a_huge_name_is_not_repeated(assistant: Assistant) -> None:
    error = await assistant.fail("list_projects", "validation_error", **{"x" * 100_000: 1})
    assert len(str(error)) < 1_000


async def test_arguments_of_any_kind_are_answered_for(assistant: Assistant, project: str) -> None:
    project_id = project.rpartition("/")[2]
    for value in ([], {}, 1.5, True, ["a"], {"a": [1]}, 10**30, "\ud7ff", "ключ"):
        await assistant.fail("get_project", "not_found", id=value)
        await assistant.fail("list_experiments", "validation_error", project_id=project_id, status=value)
        await assistant.fail("update_project", "validation_error", id=project_id, settings=value or 1)


async def test_what_nobody_foresaw_is_an_internal_error(assistant: Assistant, services: Services) -> None:
    with a_catalog_without_projects(services):
        error = await assistant.fail("list_projects", "internal_error")
    assert "projects" not in error["message"]


async def test_a_write_is_safe_to_repeat(assistant: Assistant, customer: Customer) -> None:
    shop = {"name": "Shop", "url": "https://shop.example"}
    first = await assistant.call("create_project", **shop, idempotency_key="ключ 1")
    assert await assistant.call("create_project", **shop, idempotency_key="ключ 1") == first
    assert customer.get("/projects").json()["meta"]["total"] == 1
    await assistant.fail(
        "create_project", "idempotency_key_reused", **shop | {"name": "Other"}, idempotency_key="ключ 1"
    )
    error = await assistant.fail("create_project", "validation_error", **shop, idempotency_key="x" * 256)
    assert [detail["field"] for detail in error["details"]] == ["Idempotency-Key"]


async def test_calls_use_up_the_requests_of_the_account(
    assistant: Assistant, customer: Customer, services: Services
) -> None:
    services.catalog.accounts.update(customer.account.id, rate_limit=3)
    async with assistant.connected() as client:
        for _ in range(3):
            await client.list_tools()
            assert not (await client.call_tool("list_projects")).is_error
    error = await assistant.fail("list_projects", "rate_limited")
    assert "wait" in error["message"]
    assert customer.get("/projects").status_code == 429


async def test_events_are_sent_by_a_key_that_may(
    assistant: Assistant, customer: Customer, project: str, experiment: str
) -> None:
    customer.post(f"{experiment}/start")
    project_id = project.rpartition("/")[2]
    met = await assistant.call("assign_visitor", project_id=project_id, visitor_id="v1")
    (assignment,) = met["assignments"]
    exposure = {
        "event_id": "e1",
        "type": "exposure",
        "visitor_id": "v1",
        "experiment_id": assignment["experiment_id"],
        "variant_id": assignment["variant_id"],
    }
    stored = await assistant.call("track_events", project_id=project_id, batch=[exposure])
    assert stored["accepted"] == 1
    summary = await assistant.call("get_results_summary", **ids_of(experiment))
    assert summary["data"]["decision_summary"]["visitors"] == 1


async def test_a_decision_goes_through_the_tool_that_completes(
    assistant: Assistant, customer: Customer
) -> None:
    project = customer.a_project()
    experiment = customer.an_experiment(project)
    customer.post(f"{experiment}/start")
    decision = {"decision": "inconclusive", "note": "Too few."}
    said = await assistant.call("complete_experiment", **ids_of(experiment), **decision)
    assert (said["data"]["status"], said["data"]["conclusion"]["note"]) == ("completed", "Too few.")
