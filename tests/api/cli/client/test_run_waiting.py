from typing import Any

from api.cli.client.run_waiting import wait_for_run
from tests.api.customers import Customer


class Asking:
    """The client of a command, by the key of a customer."""

    def __init__(self, customer: Customer) -> None:
        self.customer = customer

    def get(self, path: str) -> Any:
        return self.customer.get(path.removeprefix("/api/v1")).json()


def test_a_run_is_asked_for_until_it_has_ended(customer: Customer, project: str) -> None:
    run = customer.post(f"{project}/runs", {"kind": "rollup"}).json()["data"]
    seen: list[str] = []
    project_id = project.rpartition("/")[2]
    asking: Any = Asking(customer)
    ended = wait_for_run(asking, project_id, run["id"], lambda one: seen.append(one["status"]))
    assert (ended["id"], ended["status"], seen[-1]) == (run["id"], "done", "done")
