"""The programme of a project: its ended tests together."""

from tests.api.customers import Customer


def test_ended_tests_are_described_together(customer: Customer, stranger: Customer, project: str) -> None:
    assert customer.data_of(f"{project}/programme") == {
        "ended": 0,
        "decided": 0,
        "decisions": {},
        "conclusions": {},
        "win_rate": None,
        "metrics": [],
    }
    path = customer.an_experiment(project)
    for step in ("start", "complete"):
        assert customer.post(f"{path}/{step}").status_code == 200
    found = customer.data_of(f"{project}/programme")
    assert (found["ended"], found["decided"]) == (1, 0)
    assert stranger.get(f"{project}/programme").status_code == 404
    assert customer.with_key("projects:read").get(f"{project}/programme").status_code == 403
