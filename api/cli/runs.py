"""Commands `runs` and `rollup`: the runs of projects, and one for each that counts its events."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from api.cli.console import CommandError, err, out, print_json, print_records
from api.cli.operation.file_rollup import FileRollup, roll_up_files
from api.cli.operation.handed_in_sums import TakeOver, Url
from api.cli.options import AsJson, DataDir
from api.cli.stores import opened_catalog, opened_store, require_store

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService
    from engine.design.project import Project
    from pipeline.store.catalog.catalog import Catalog

# Exit statuses of `rollup`, by the worst status of its runs; 0 where all are done.
DRIFT: Final = 3
FAILED: Final = 4
STOPPED_WAITING: Final = 130
_TRIGGER: Final = {"trigger": "command_line"}
_COLUMNS: Final = (
    *("project_id", "id", "kind", "trigger", "status", "count", "created_at", "events", "drift", "error"),
)

OneProject = Annotated[str | None, typer.Option("--project", help="Project id; by default all projects.")]


def runs(
    data_dir: DataDir = Path("data/store"),
    project: OneProject = None,
    kind: Annotated[
        Literal["rollup", "rebuild", "snapshot", "import"] | None,
        typer.Option("--kind", help="Runs of this kind only."),
    ] = None,
    status: Annotated[
        Literal["queued", "running", "done", "drift", "failed", "interrupted"] | None,
        typer.Option("--status", help="Runs of this status only."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, help="Most runs of a project, newest first.")
    ] = 25,
    as_json: AsJson = False,
) -> None:
    """List runs of the schedule, of the API and of commands, the newest of all projects first."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        found = [
            _as_json(run)
            for one in _chosen(catalog, project)
            for run in catalog.runs.page(one.id, kind=kind, status=status, per_page=limit).items
        ]
    found.sort(key=lambda run: str(run["created_at"]), reverse=True)
    if as_json:
        print_json({"runs": found})
        return
    told = [{**run, "count": _count(run["result"])} for run in found]
    print_records([{name: run[name] for name in _COLUMNS} for run in told])


def rollup(  # the options of a command
    data_dir: DataDir = Path("data/store"),
    full: Annotated[
        bool, typer.Option("--full", help="Recompute from the first event, and report any drift.")
    ] = False,
    night: Annotated[
        bool, typer.Option("--night", help="Check as each night does; recompute where needed only.")
    ] = False,
    project: OneProject = None,
    as_json: AsJson = False,
    engine: Annotated[
        Literal["local", "spark"] | None,
        typer.Option("--engine", help="Count events in files by processes here, or by Spark, into files."),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", help="Spark cluster, as in spark://host:7077, yarn or local[8].")
    ] = None,
    input_folder: Annotated[
        Path | None, typer.Option("--input", help="Snapshot, or folder of Parquet files of events.")
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--source", help="File that describes your own files of exposures or events; repeatable."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Folder to write, for `load`.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier output.")] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; by default one a core.")
    ] = None,
    parts: Annotated[
        int | None, typer.Option("--parts", min=1, help="Parts of visitors; by default of a million events.")
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Hand in the sums of what is counted, as `load` does.")
    ] = False,
    url: Url = None,
    take_over: TakeOver = False,
) -> None:
    """Bring results up to date, by the service where it owns the store; or count files, with --engine.

    Exit status 0 done, 3 drift, 4 failed. The service skips projects of accounts that it does not serve.
    """
    from api.cli.client.running_service import find_service

    files = FileRollup(
        engine=engine,
        input=input_folder,
        sources=tuple(source or ()),
        output=output,
        master=master,
        workers=workers,
        parts=parts,
        replace=replace,
        publish=publish,
        url=url,
        take_over=take_over,
    )
    if engine is not None:
        if full or night or as_json:
            raise CommandError("--full, --night and --json are not for --engine, which counts all events")
        roll_up_files(data_dir, project, files)
        return
    if not files.is_empty:
        raise CommandError(
            "--input, --source, --output, --replace, --master, --workers, --parts and --publish are for "
            "--engine only"
        )
    if full and night:
        raise CommandError("--full counts all, --night what it has to: give one of them")
    require_store(data_dir)
    service = find_service(data_dir)
    asked: dict[str, Any] = {"kind": "rebuild" if full or night else "rollup"}
    asked |= {"night": True} if night else {}
    ended: list[dict[str, Any]] = []

    def report(of: "Project", run: dict[str, Any]) -> None:
        ended.append(run)
        if not as_json:
            out.print(f"{of.name} ({of.id}): {_sentence(run)}", highlight=False, soft_wrap=True)

    if service is None:
        _roll_up_here(data_dir, project, asked, report)
    else:
        _roll_up_there(service, data_dir, project, asked, report)
    statuses = {run["status"] for run in ended}
    if as_json:
        print_json({"status": _worst(statuses), "runs": ended})
    code = {"drift": DRIFT, "failed": FAILED}.get(_worst(statuses), 0)
    if code:
        raise typer.Exit(code)


Report = Callable[["Project", dict[str, Any]], None]


def _roll_up_here(data_dir: Path, project: str | None, asked: dict[str, Any], report: Report) -> None:
    """Carry out the runs in this process, which owns the store meanwhile."""
    from pipeline.clock import utc_now
    from pipeline.requests.runs import read_run
    from pipeline.runs.run_ends import one_line

    with opened_store(data_dir) as store:
        for one in _chosen(store.catalog, project):
            ended = store.runner.carry_out(read_run(one.id, {**asked, **_TRIGGER}, now=utc_now()))
            # Of a failure that is not foreseen, this terminal is the log.
            told = {} if ended.error is None else {"error": one_line(ended.error)}
            report(one, {**_as_json(ended.run), **told})


def _roll_up_there(
    service: "RunningService", data_dir: Path, project: str | None, asked: dict[str, Any], report: Report
) -> None:
    """Start the runs in the service, and wait for the end of each."""
    from api.cli.client.run_waiting import wait_for_run
    from api.cli.client.running_service import ServiceRefusedError
    from pipeline.store.catalog.ids import new_id

    started = []
    with opened_catalog(data_dir) as catalog:
        chosen = [(one, service.client(catalog, one.account_id)) for one in _chosen(catalog, project)]
    try:
        for one, client in chosen:
            body = {**asked, **_TRIGGER, "run_key": new_id("cli")}
            try:
                run = client.post(f"/api/v1/projects/{one.id}/runs", body)["data"]
                started.append((one, client, run))
            except ServiceRefusedError as error:
                status = "skipped" if error.code == "account_inactive" else "failed"
                report(one, _without_run(one, asked["kind"], status=status, error=str(error)))
        for one, client, run in started:
            report(one, wait_for_run(client, one.id, run["id"]))
    except KeyboardInterrupt:
        # A run whose answer has not come yet has no id here, and may have begun.
        ids = ", ".join(run["id"] for _, _, run in started) or "what was asked for"
        err.print(f"The service goes on with {ids}; see `truelift runs --data-dir {data_dir}`.")
        raise typer.Exit(STOPPED_WAITING) from None


def _without_run(project: "Project", kind: Any, *, status: str, error: str) -> dict[str, Any]:  # noqa: ANN401 - a literal
    """Describe what was asked for, and was never a run."""
    from pipeline.clock import utc_now
    from pipeline.store.catalog.runs.run_record import Run

    asked = Run(project_id=project.id, kind=kind, trigger="command_line", created_at=utc_now())
    return _as_json(asked) | {"id": None, "status": status, "error": error}


def _chosen(catalog: "Catalog", project_id: str | None) -> "Sequence[Project]":
    if project_id is not None:
        return [catalog.projects.find(project_id)]
    return catalog.projects.all()


def _as_json(run: Any) -> dict[str, Any]:  # noqa: ANN401 - a run, which is slow to import
    from api.schemas.runs import Run

    return Run.of(run).model_dump(mode="json", by_alias=True)


def _sentence(run: dict[str, Any]) -> str:
    """Summarize a run that has ended."""
    from pipeline.rollup.run import Outcome

    if run["status"] not in {"done", "drift"}:
        return f"{run['status']}: {run['error']}"
    result = run["result"]
    if result.get("count") == "checked" and not (result["recounted"] or result.get("updated")):
        return "checked: all is as it was counted"
    outcome = Outcome(
        recounted=tuple(result.get("recounted", ())),
        updated=tuple(result.get("updated", ())),
        drifted=tuple(run["drift"]),
    )
    return f"{outcome}: {result['why']}" if "why" in result else str(outcome)


def _count(result: dict[str, Any]) -> str | None:
    """Tell of a rebuild whether it checked what is stored, or counted everything, and why."""
    count = result.get("count")
    return f"{count}: {result['reason']}" if "reason" in result else count


def _worst(statuses: set[str]) -> str:
    if statuses - {"done", "drift", "skipped"}:
        return "failed"
    return "drift" if "drift" in statuses else "done"
