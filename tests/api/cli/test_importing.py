"""Command `import`: files of real experiments, and their verdicts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.cli.stores import opened_store
from engine.analysis.results.report import GoalReport, Report
from pipeline.results.filters import SegmentFilters
from pipeline.services import PipelineServices
from tests.api.cli.conftest import Run
from tests.api.cli.owners import owned_by_another_process
from tests.public_data import EmailChallenge, LandingPage

LANDING_PAGE = (
    *("--variant", "landing_page", "--control", "old_page", "--goal", "converted"),
    *("--visitor", "user_id", "--timestamp", "timestamp", "--segment", "country"),
)
HILLSTROM = (
    *("--variant", "segment", "--control", "No E-Mail", "--goal", "visit", "--goal", "conversion"),
    *("--goal", "spend:revenue", "--segment", "channel"),
)


def report_of(folder: Path, **filters: str) -> Report:
    with opened_store(folder) as store:
        return read(store, **filters)


def read(store: PipelineServices, **filters: str) -> Report:
    (project,) = store.catalog.projects.all()
    (experiment,) = store.catalog.experiments.of_project(project.id)
    given = SegmentFilters.from_query(filters)
    return store.results.report(experiment, project, given, now=datetime.now(UTC))


def counts(goal: GoalReport) -> dict[str, tuple[int, int]]:
    return {arm.variant_name: (arm.visitors, arm.conversions) for arm in goal.variants}


def goal_named(report: Report, name: str) -> GoalReport:
    return next(goal for goal in report.goals if goal.goal.name == name)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    rows = [f"v{number},{'AB'[number % 2]},{int(number % 5 == 0)},{number}.5" for number in range(1_000)]
    path = tmp_path / "small.csv"
    path.write_text("\n".join(["who,arm,bought,spend", *rows, "null,A,1,2", "v9,B,perhaps,2"]) + "\n")
    return path


SMALL = (
    "--variant",
    "arm",
    "--control",
    "A",
    "--goal",
    "bought",
    "--goal",
    "spend:revenue",
    "--visitor",
    "who",
)


@pytest.mark.usefixtures("account")
def test_bad_rows_are_named_by_line_and_the_rest_counts(run: Run, tmp_path: Path, small_file: Path) -> None:
    ran = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    assert ran.status == 0
    assert "line 1002: has no usable visitor id" in ran.err
    assert "line 1003: 'bought' is neither 1 nor 0" in ran.err
    report = report_of(tmp_path)
    assert counts(goal_named(report, "bought")) == {"A": (500, 100), "B": (500, 100)}
    # 0.5 + 2.5 + … + 998.5 and 1.5 + 3.5 + … + 999.5, in cents.
    assert [arm.revenue_cents for arm in goal_named(report, "spend").variants] == [24_975_000, 25_025_000]


@pytest.mark.usefixtures("account")
def test_importing_a_file_twice_counts_it_once(run: Run, tmp_path: Path, small_file: Path) -> None:
    first = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    again = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    assert (first.status, again.status) == (0, 0)
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (500, 100), "B": (500, 100)}


@pytest.fixture
def clear_file(tmp_path: Path) -> Path:
    """2,000 visitors a variant, of whom 200 and 250 buy: clear at one look, and not at every look."""
    path = tmp_path / "clear.csv"
    path.write_text("who,arm,bought\n")
    append_visitors(path, "first", buyers=(200, 250))
    return path


def append_visitors(path: Path, name: str, *, buyers: tuple[int, int]) -> None:
    """Append 2,000 visitors a variant, of whom so many buy."""
    rows = [f"{name}{arm}-{i},{'AB'[arm]},{int(i < buyers[arm])}" for arm in (0, 1) for i in range(2_000)]
    path.write_text(path.read_text() + "\n".join(rows) + "\n")


CLEAR = ("--variant", "arm", "--control", "A", "--goal", "bought", "--visitor", "who")


@pytest.mark.usefixtures("account")
def test_imported_file_is_a_finished_test_judged_by_one_look_for_good(
    run: Run, tmp_path: Path, clear_file: Path
) -> None:
    ran = run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert "Plan: finished test, judged by one look at 4,000 visitors" in ran.out
    report = report_of(tmp_path)
    assert report.primary is not None
    assert report.primary.decision.recommendation == "ship"
    assert (report.plan.source, report.plan.is_reached) == ("finished", True)
    # With more rows both variants convert alike: the record stays, and the numbers beside it change.
    append_visitors(clear_file, "second", buyers=(200, 150))
    run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    later = report_of(tmp_path)
    assert later.primary is not None
    assert (later.primary.summary.visitors, later.primary.summary.conversions) == (8_000, 800)
    assert later.primary.decision.recommendation == "ship"
    assert (later.plan.required_visitors, later.plan.reached_at) == (4_000, report.plan.reached_at)


@pytest.mark.usefixtures("account")
def test_a_second_file_adds_its_visitors_and_the_first_again_none(
    run: Run, tmp_path: Path, clear_file: Path
) -> None:
    first = run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert "4,000 rows: 4,000 new, 0 already there. 4,450 events: 4,450 new, 0 already there." in first.out
    again = run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert "4,000 rows: 0 new, 4,000 already there. 4,450 events: 0 new, 4,450 already there." in again.out
    clear_file.write_text("who,arm,bought\n")
    append_visitors(clear_file, "other", buyers=(300, 300))
    run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (4_000, 500), "B": (4_000, 550)}


@pytest.mark.usefixtures("account")
def test_several_files_are_read_as_one_and_named_with_their_bad_rows(run: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("who,arm,bought\nv1,A,1\n")
    two.write_text("who,arm,bought\nv2,B,0\nv1,A,1\nv3,B,perhaps\n")
    ran = run("import", one, two, "--data-dir", tmp_path, *CLEAR, "--json")
    assert "two.csv line 4: 'bought' is neither 1 nor 0" in ran.err
    assert ran.json["rows"] == {"new": 3, "already_there": 0, "rejected": 1, "of_known_visitors": 0}
    assert ran.json["events"] == {"new": 5, "already_there": 0}
    twice = run("import", one, one, "--data-dir", tmp_path, *CLEAR)
    assert twice.status == 1
    # The path before it is of any length, and wraps.
    assert "isnamedtwice" in "".join(twice.err.split())


@pytest.mark.usefixtures("account")
def test_rows_with_other_values_for_a_visitor_are_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "visitors.csv"
    path.write_text("who,arm,bought\nv1,A,0\nv2,B,0\n")
    run("import", path, "--data-dir", tmp_path, *CLEAR)
    path.write_text("who,arm,bought\nv1,A,1\nv2,B,0\n")
    ran = run("import", path, "--data-dir", tmp_path, *CLEAR)
    assert "2 rows: 1 new, 1 already there." in ran.out
    assert "1 of the new rows have the visitor of a row that was already there: both count" in ran.out


@pytest.mark.usefixtures("account")
def test_without_visitor_ids_a_further_file_is_new_visitors_and_says_so(run: Run, tmp_path: Path) -> None:
    anonymous = ("--variant", "arm", "--control", "A", "--goal", "bought", "--name", "Test")
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("arm,bought\n" + "A,1\nB,0\nB,1\n" * 10)
    two.write_text("arm,bought\n" + "A,0\nB,0\n" * 10)
    run("import", one, "--data-dir", tmp_path, *anonymous)
    other = run("import", two, "--data-dir", tmp_path, *anonymous)
    assert "20 rows: 20 new, 0 already there." in other.out
    assert "Without --visitor every new row is a new visitor." in other.out
    again = run("import", one, "--data-dir", tmp_path, *anonymous)
    assert "30 rows: 0 new, 30 already there." in again.out
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (20, 10), "B": (30, 10)}


@pytest.mark.usefixtures("account")
def test_imported_file_of_a_running_test_waits_for_its_plan(
    run: Run, tmp_path: Path, clear_file: Path
) -> None:
    ran = run("import", clear_file, "--data-dir", tmp_path, *CLEAR, "--running")
    assert "Plan: 4,000 of " in ran.out
    report = report_of(tmp_path)
    assert report.primary is not None
    assert report.primary.decision.recommendation == "keep_running"
    assert report.plan.source == "blinded"
    # Imported again without the option, it is finished.
    run("import", clear_file, "--data-dir", tmp_path, *CLEAR)
    finished = report_of(tmp_path)
    assert finished.primary is not None
    assert finished.plan.source == "finished"


@pytest.mark.usefixtures("account")
def test_running_days_of_an_old_file_end_at_its_last_visitor(run: Run, tmp_path: Path) -> None:
    began = datetime.now(UTC) - timedelta(days=400)
    times = [began + timedelta(days=day) for day in range(11) for _ in range(20)]
    rows = [f"v{i},{'AB'[i % 2]},{int(i % 10 < 2)},{at.isoformat()}" for i, at in enumerate(times)]
    path = tmp_path / "old.csv"
    path.write_text("\n".join(["who,arm,bought,at", *rows]) + "\n")
    ran = run("import", path, "--data-dir", tmp_path, *CLEAR, "--timestamp", "at", "--running")
    assert "Plan: 220 of " in ran.out
    report = report_of(tmp_path)
    assert report.primary is not None
    assert report.plan.running_days == pytest.approx(10.0, abs=0.1)
    assert (report.plan.is_reached, report.plan.source) == (False, "blinded")
    assert report.primary.decision.recommendation == "keep_running"


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--variant", "page", "--control", "A", "--goal", "bought"), "has no column 'page'"),
        (("--variant", "arm", "--control", "C", "--goal", "bought"), "no row of 'arm' is the control 'C'"),
        (("--variant", "who", "--control", "v1", "--goal", "bought"), "more than 20 different values"),
    ],
)
def test_a_file_that_means_something_else_leaves_nothing_behind(
    run: Run, tmp_path: Path, small_file: Path, options: tuple[str, ...], why: str
) -> None:
    ran = run("import", small_file, "--data-dir", tmp_path, *options)
    assert ran.status == 1
    assert why in ran.err.replace("\n", " ")
    with opened_store(tmp_path) as store:
        (project,) = store.catalog.projects.all()
        assert store.catalog.experiments.of_project(project.id) == []


@pytest.mark.usefixtures("account")
def test_a_store_that_is_served_says_how_to_go_on(run: Run, tmp_path: Path, small_file: Path) -> None:
    with owned_by_another_process(tmp_path):
        ran = run("import", small_file, "--data-dir", tmp_path, *SMALL)
    assert ran.status == 1
    assert "is in use by process" in ran.err.replace("\n", " ")


@pytest.mark.usefixtures("account")
def test_the_landing_page_test_made_no_difference(
    run: Run, tmp_path: Path, landing_page: LandingPage
) -> None:
    ran = run("import", landing_page.path, "--data-dir", tmp_path, *LANDING_PAGE)
    assert "No relevant difference" in ran.out
    with opened_store(tmp_path) as store:
        report = read(store)
        by_country = [read(store, country=country) for country in ("US", "UK", "CA")]
        (project,) = store.catalog.projects.all()
        store.catalog.projects.change(
            project.account_id,
            project.id,
            lambda kept: replace(kept, reporting_timezone="America/New_York"),
            actor="test",
        )
        # A read alone waits two seconds for the rollup, and a busy machine may take longer.
        store.rollup.refresh(project.id)
        in_new_york = read(store)
    (goal,) = report.goals
    assert counts(goal) == landing_page.counts
    assert goal.variants[1].p_value == pytest.approx(landing_page.p_value, rel=1e-9)
    several = next(check for check in report.health if "several" in check.check)
    assert several.details["visitors"] == landing_page.visitors_of_both_pages
    for name, total in counts(goal).items():
        parts = [counts(one.goals[0])[name] for one in by_country]
        assert (sum(part[0] for part in parts), sum(part[1] for part in parts)) == total
    for view in (report, in_new_york):
        assert day_totals(view) == counts(goal)
    assert report.goals[0].days[0] != in_new_york.goals[0].days[0]


def day_totals(report: Report) -> dict[str, tuple[int, int]]:
    (goal,) = report.goals
    return {
        arm.variant_name: (
            sum(day[arm.variant_id].visitors for _, day in goal.days),
            sum(day[arm.variant_id].conversions for _, day in goal.days),
        )
        for arm in goal.variants
    }


@pytest.mark.usefixtures("account")
def test_both_mails_win_and_spend_is_judged_by_welch(
    run: Run, tmp_path: Path, email_challenge: EmailChallenge
) -> None:
    ran = run("import", email_challenge.path, "--data-dir", tmp_path, *HILLSTROM)
    assert ran.status == 0
    report = report_of(tmp_path)
    visit = goal_named(report, "visit")
    assert counts(visit) == email_challenge.visits
    assert [arm.status for arm in visit.variants] == ["control", "winner", "winner"]
    assert visit.summary.winner_variant_name == "Mens E-Mail"
    for (goal, mail), p_value in email_challenge.p_values.items():
        (arm,) = (arm for arm in goal_named(report, goal).variants if arm.variant_name == mail)
        # The arms differ by a visitor or a hundred, so Hall's correction of Welch's p is slight.
        assert arm.p_value == pytest.approx(p_value, rel=0.1 if goal == "spend" else 1e-6, abs=0)


def test_a_store_without_an_account_says_what_to_run(run: Run, tmp_path: Path, small_file: Path) -> None:
    ran = run("import", small_file, "--data-dir", tmp_path / "empty", *SMALL)
    assert ran.status == 1
    assert "truelift init" in ran.err


@pytest.mark.usefixtures("account")
def test_a_file_of_events_counts_like_events_that_were_sent(
    run: Run, tmp_path: Path, small_file: Path
) -> None:
    run("import", small_file, "--data-dir", tmp_path, *SMALL)
    with opened_store(tmp_path) as store:
        (project,) = store.catalog.projects.all()
        (experiment,) = store.catalog.experiments.of_project(project.id)
    control = experiment.variants[0].id
    lines = [
        {"type": "exposure", "visitor_id": "late", "experiment_id": experiment.id, "variant_id": control},
        {"type": "conversion", "visitor_id": "late", "goal_id": experiment.goals[0].id},
        {
            "type": "exposure",
            "visitor_id": "undefined",
            "experiment_id": experiment.id,
            "variant_id": control,
        },
    ]
    columns = ["event_id", "type", "visitor_id", "experiment_id", "variant_id", "goal_id"]
    rows = [
        ",".join(str({"event_id": f"late-{number}", **line}.get(name, "")) for name in columns)
        for number, line in enumerate(lines)
    ]
    events = tmp_path / "events.csv"
    events.write_text("\n".join([",".join(columns), *rows]) + "\n")
    ran = run("import", events, "--data-dir", tmp_path)
    assert ran.status == 0
    assert "line 4: invalid_visitor_id" in ran.err
    assert counts(goal_named(report_of(tmp_path), "bought")) == {"A": (501, 101), "B": (500, 100)}
