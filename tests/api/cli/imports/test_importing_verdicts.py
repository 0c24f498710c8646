"""Command `import`: verdicts of files of finished, running and real experiments."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.cli.stores import opened_store
from engine.analysis.results.report import Report
from tests.api.cli.conftest import Run
from tests.api.cli.imports.imported_files import (
    CLEAR,
    append_visitors,
    counts,
    goal_named,
    read,
    report_of,
)
from tests.public_data import EmailChallenge, LandingPage

LANDING_PAGE = (
    *("--variant", "landing_page", "--control", "old_page", "--goal", "converted"),
    *("--visitor", "user_id", "--timestamp", "timestamp", "--segment", "country"),
)
HILLSTROM = (
    *("--variant", "segment", "--control", "No E-Mail", "--goal", "visit", "--goal", "conversion"),
    *("--goal", "spend:revenue", "--segment", "channel"),
)


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


@pytest.mark.usefixtures("account")
def test_a_file_with_accounts_is_judged_by_account(run: Run, tmp_path: Path) -> None:
    rows = [f"v{i},{'AB'[i // 5 % 2]},a{i // 5},{int(i % 7 < 2)}" for i in range(200)]
    path = tmp_path / "accounts.csv"
    path.write_text("\n".join(["who,arm,account,bought", *rows]) + "\n")
    ran = run("import", path, "--data-dir", tmp_path, *CLEAR, "--unit", "account")
    assert "judged by one look at 40 units" in ran.out
    report = report_of(tmp_path)
    assert [one.clusters for one in report.goals[0].variants] == [20, 20]
    assert report.clustered_by == "account"
