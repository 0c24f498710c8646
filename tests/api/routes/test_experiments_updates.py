from api.services import Services
from tests.api.customers import Customer
from tests.api.request_bodies import an_experiment_body, error_of, fields_of


def test_assigned_people_are_members_of_the_account(
    customer: Customer, stranger: Customer, experiment: str, services: Services
) -> None:
    foreign = services.catalog.members.accepted(stranger.account.id)[0]
    error = error_of(
        customer.patch(experiment, {"assigned_user_ids": [foreign.id], "name": ""}), 422, "validation_error"
    )
    assert set(fields_of(error)) == {"assigned_user_ids[0]", "name"}


def test_draft_can_be_changed_in_every_way(customer: Customer, experiment: str) -> None:
    body = an_experiment_body(name="Other", type="redirect", url="https://other.example", goals=[])
    data = customer.patch(experiment, body).json()["data"]
    assert (data["name"], data["type"], data["url"], data["goals"]) == (
        "Other",
        "redirect",
        "https://other.example",
        [],
    )


def test_update_of_a_part_leaves_the_rest(customer: Customer, experiment: str) -> None:
    before = customer.data_of(experiment)
    after = customer.patch(experiment, {"hypothesis": "Because."}).json()["data"]
    assert after == {**before, "hypothesis": "Because.", "updated_at": after["updated_at"]}


def test_running_experiment_cannot_be_changed(customer: Customer, experiment: str) -> None:
    customer.post(f"{experiment}/start")
    error_of(customer.patch(experiment, {"name": "x"}), 422, "experiment_running")


def test_paused_experiment_keeps_what_its_history_rests_on(customer: Customer, experiment: str) -> None:
    for step in ("start", "pause"):
        customer.post(f"{experiment}/{step}")
    before = customer.data_of(experiment)
    goal = {**before["goals"][0], "config": {"event_name": "signup"}}
    error = error_of(
        customer.patch(
            experiment,
            {
                "url": "https://other.example",
                "type": "redirect",
                "variants": [*before["variants"], {"name": "New"}],
                "goals": [goal],
            },
        ),
        422,
        "field_locked",
    )
    assert {name.partition("[")[0].partition(".")[0] for name in fields_of(error)} == {
        "url",
        "type",
        "variants",
        "goals",
    }
    assert customer.data_of(experiment) == before


def test_paused_experiment_can_be_changed_where_its_history_stays_true(
    customer: Customer, experiment: str
) -> None:
    for step in ("start", "pause"):
        customer.post(f"{experiment}/{step}")
    before = customer.data_of(experiment)
    control, treatment = before["variants"]
    changed = {**treatment, "weight": 3, "name": "Bolder"}
    answer = customer.patch(experiment, {"variants": [control, changed], "traffic_allocation": 20})
    data = answer.json()["data"]
    assert answer.status_code == 200
    assert [variant["id"] for variant in data["variants"]] == [control["id"], treatment["id"]]
    assert (data["variants"][1]["name"], data["variants"][1]["weight"]) == ("Bolder", 3)
    assert customer.post(f"{experiment}/resume").json()["data"]["traffic_allocation"] == 20
