"""Names of modules: each has one meaning."""

from tests.source_tree import modules

# Layers in which a resource, such as experiments, has one module of the same name each.
RESOURCE_FOLDERS = frozenset(
    {
        *("api/routes", "api/schemas", "api/cli", "api/dashboard", "api/sdk"),
        *("pipeline/requests", "pipeline/snapshots", "pipeline/store/catalog"),
    }
)
# Every other name that several modules have, with its one meaning.
SHARED_NAMES = {
    "aggregates": "sums by goal, variant, day and segment",
    "analyze": "the entry point that makes a report, from evidence, a DataFrame or a file",
    "app": "the application object of an entry point",
    "bandits": "experiments whose weights move",
    "clusters": "groups of visitors that are assigned as a whole",
    "covariates": "values of visitors from before the first exposure",
    "effects": "lift, interval and p value as arrays",
    "epochs": "periods of constant weights",
    "errors": "errors of the package, and their codes",
    "events": "raw events",
    "evidence": "counts and moments of an experiment",
    "exports": "counted visitors as a file",
    "funnels": "ordered steps of visitors",
    "largest_visitors": "visitors who may decide a mean or a ratio alone",
    "late_visits": "visits that were not exposed since the script came late",
    "lifecycle": "start, pause, completion",
    "metrics": "metrics of goals, and of a project",
    "other_currencies": "orders in currencies that a goal does not count",
    "programme": "the past tests of a project together",
    "quantiles": "quantiles of a metric",
    "reader": "the one reader of a format",
    "recorded_looks": "results at the looks that decide",
    "report": "a report and its charts",
    "results": "results of an experiment",
    "revenue": "money of visitors, per visitor or per order",
    "sample_ratio": "the test of the split",
    "schema": "fields and columns",
    "segments": "effects by segment",
    "senders": "visitors and money by the kind of sender",
    "services": "the opened stores and services of a process",
    "shipping": "the decision about an experiment, and its rollout",
    "tools": "calculations of the API, and the operations as MCP tools",
    "values": "single values: of input, of visitors",
    "verdicts": "recommendations for experiments",
    "visitor_values": "amounts and covariates by visitor",
    "visitors": "visitors, one row each",
}


def test_a_name_has_one_meaning() -> None:
    folders_of: dict[str, set[str]] = {}
    for path in modules():
        folders_of.setdefault(path.stem, set()).add(path.parent.as_posix())
    shared = {
        stem for stem, places in folders_of.items() if len(places) > 1 and not places <= RESOURCE_FOLDERS
    }
    assert shared == set(SHARED_NAMES), "rename the module, or add the one meaning of its name here"
