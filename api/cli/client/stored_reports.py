"""The report of an experiment of a store: by the service where one owns it, else by this process."""

from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.client.running_service import ServiceClient, find_service
from api.cli.stores import opened_store, require_store

if TYPE_CHECKING:
    from api.report_formats import Format


def stored_report(data_dir: Path, experiment_id: str, format_: "Format") -> bytes:
    """Write the report of an experiment as a file's content; CommandError, NotFoundError."""
    from api.report_files import report_content
    from pipeline.clock import utc_now
    from pipeline.encryption_key import operator_token
    from pipeline.results.reports_by_id import report_of_experiment

    require_store(data_dir)
    service = find_service(data_dir)
    if service is None:
        with opened_store(data_dir) as store:
            report = report_of_experiment(store.catalog, store.results, experiment_id, now=utc_now())
        return report_content(report, format_)
    client = ServiceClient(service, operator_token(service.settings))
    body = {"experiment_id": experiment_id, "format": format_}
    return b64decode(client.post("/operator/reports", body)["data"]["content"])
