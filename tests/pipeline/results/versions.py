"""A version of results, of which tests make others."""

from pipeline.results.results_version import ResultsVersion
from tests.builders import NOW, a_project, an_experiment

VERSION = ResultsVersion(
    experiment=an_experiment(status="running"),
    project=a_project(),
    newest_seq=1,
    publication=1,
    looks=0,
    local_day=NOW.date(),
    running_days=1,
    is_over=False,
)
