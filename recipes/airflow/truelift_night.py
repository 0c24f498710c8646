"""Night of a project: imports its sources, counts, reads the verdict of an experiment, and branches.

Airflow variables: `truelift_url`, `truelift_key` (scopes projects:write and results:read),
`truelift_project` and `truelift_experiment`.
"""

from datetime import UTC, datetime, timedelta

import httpx
from airflow.sdk import PokeReturnValue, Variable, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

# Names of the files in `sources` of the service's data folder, in the order of their import.
SOURCES = ("1-exposures", "2-orders")
NEXT_TASKS = {"ship": "ship", "rollback": "roll_back", "review": "ask_a_person", "fix_data": "ask_a_person"}


def call(method: str, path: str, body: dict[str, str] | None = None, **query: str) -> dict:
    """Call the service about the project; a run that was asked for with the same key is the same run."""
    answer = httpx.request(
        method,
        f"{Variable.get('truelift_url')}/api/v1/projects/{Variable.get('truelift_project')}/{path}",
        headers={"Authorization": f"Bearer {Variable.get('truelift_key')}"},
        params=query,
        json=body,
        timeout=60,
    )
    if answer.is_client_error and answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
        # A retry would be refused again.
        raise AirflowFailException(answer.text)
    return answer.raise_for_status().json()["data"]


@dag(
    schedule="15 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
)
def truelift_night() -> None:  # noqa: C901 - one function a task
    """Import, wait, count, read the verdict and branch."""

    @task
    def start_import(source: str) -> str:
        run_key = f"{source} {get_current_context()['run_id']}"
        return call("POST", "imports", {"source": source}, run_key=run_key)["id"]

    @task
    def start_rollup() -> str:
        run_key = f"rollup {get_current_context()['run_id']}"
        return call("POST", "runs", {"kind": "rebuild", "night": True, "run_key": run_key})["id"]

    @task.sensor(poke_interval=5, timeout=6 * 3600)
    def wait_for(run: str) -> PokeReturnValue:
        found = call("GET", f"runs/{run}")
        if found["status"] in {"failed", "interrupted"}:
            raise AirflowFailException(found["error"])
        return PokeReturnValue(found["ended_at"] is not None, xcom_value=found["status"])

    @task.branch
    def read_verdict() -> str:
        summary = call("GET", f"experiments/{Variable.get('truelift_experiment')}/results/summary")
        return NEXT_TASKS.get(summary["decision_summary"]["recommendation"], "keep_running")

    @task
    def ship() -> None:
        """Turn the winner on for everyone: call your feature flags or your deployment here."""

    @task
    def roll_back() -> None:
        """Turn the experiment off."""

    @task
    def ask_a_person() -> None:
        """Send the headline to the owner of the experiment."""

    @task
    def keep_running() -> None:
        """Wait for the next night."""

    previous = None
    for source in SOURCES:
        run = start_import.override(task_id=f"import_{source}")(source)
        if previous is not None:
            previous >> run
        previous = wait_for.override(task_id=f"wait_for_{source}")(run)
    counted = start_rollup()
    previous >> counted
    (
        wait_for.override(task_id="wait_for_rollup")(counted)
        >> read_verdict()
        >> [
            ship(),
            roll_back(),
            ask_a_person(),
            keep_running(),
        ]
    )


truelift_night()
