"""Every segment in one read is what each of them is when it is read by itself."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.evidence.segments import Segment
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.filters import InvalidFilterError
from pipeline.rollup.segment_codes import MOST_VALUES
from tests.builders import NOW, a_goal, variants_of
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_exposure


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def an_experiment_of_three(store: WorkingStore, project: Project) -> Experiment:
    goals = (a_goal(), a_goal(id="paid", name="Paid", goal_type="revenue", is_primary=False, config={}))
    return store.add_experiment(project, variants=variants_of((1, 1, 1)), goals=goals)


def write_visitors(store: WorkingStore, project: Project, experiment: Experiment, count: int) -> None:
    """Visitors of some countries and plans, or none known; some buy, twice or for nothing."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(count):
        attributes = {
            "country": ("US", "DE", None)[rng.integers(3)],
            "device_type": rng.choice(["mobile", "desktop"]),
            "custom": ('{"plan":"pro"}', '{"plan":"free","tier":"gold"}', None)[rng.integers(3)],
        }
        visitor = f"v{number}"
        shown = number % 3
        rows.append(an_exposure(experiment, shown, visitor, **attributes))
        if number % 29 == 0:
            rows.append(an_exposure(experiment, (shown + 1) % 3, visitor, minute=1))
        paid = rng.integers(0, 10**6, rng.integers(0, 3)).tolist()
        rows.extend(a_purchase(visitor, cents=cents, minute=2) for cents in paid)
    store.write(project, *rows)


def test_segments_are_those_that_results_are_filtered_by(store: WorkingStore, project: Project) -> None:
    experiment = an_experiment_of_three(store, project)
    write_visitors(store, project, experiment, 400)
    found = store.results.segment_evidence(experiment, project, now=NOW)
    assert {one.dimension for one in found.segments} == {
        "country",
        "device_type",
        "day_of_week",
        "custom:plan",
        "custom:tier",
    }
    for row, (dimension, value) in enumerate(found.segments):
        key = dimension.removeprefix("custom:")
        own = {"custom_dimension_key": key, "custom_dimension_value": value}
        alone = store.observe(experiment, project, {dimension: value} if key == dimension else own)
        np.testing.assert_array_equal(found.counts.visitors[row], alone.visitors)
        np.testing.assert_array_equal(found.counts.conversions[row], alone.conversions)
        for name in ("n", "mean", "m2"):
            np.testing.assert_array_equal(
                getattr(found.counts.revenue[row], name), getattr(alone.revenue, name)
            )


def test_everyone_is_the_result_without_a_filter(store: WorkingStore, project: Project) -> None:
    experiment = an_experiment_of_three(store, project)
    write_visitors(store, project, experiment, 400)
    found = store.results.segment_evidence(experiment, project, now=NOW)
    whole = store.observe(experiment, project)
    np.testing.assert_array_equal(found.everyone.visitors, whole.visitors)
    np.testing.assert_array_equal(found.everyone.conversions, whole.conversions)
    np.testing.assert_array_equal(found.everyone.revenue.m2, whole.revenue.m2)
    assert found.as_of == whole.as_of == NOW
    assert whole.several_variants > 0


def test_evidence_of_everybody_has_the_visitors_of_every_segment_and_filtered_has_none(
    store: WorkingStore, project: Project
) -> None:
    experiment = an_experiment_of_three(store, project)
    write_visitors(store, project, experiment, 90)
    by_segment = store.observe(experiment, project).segments
    found = store.results.segment_evidence(experiment, project, now=NOW)
    assert by_segment is not None
    assert by_segment.segments == found.segments
    np.testing.assert_array_equal(by_segment.visitors, found.counts.visitors)
    assert store.observe(experiment, project, {"country": "DE"}).segments is None


def test_variants_and_goals_stand_where_the_experiment_has_them_now(
    store: WorkingStore, project: Project
) -> None:
    experiment = an_experiment_of_three(store, project)
    write_visitors(store, project, experiment, 120)
    before = store.results.segment_evidence(experiment, project, now=NOW)
    first, second, third = experiment.variants
    turned = store.change(experiment, variants=(third, first, second), goals=experiment.goals[::-1])
    after = store.results.segment_evidence(turned, project, now=NOW)
    np.testing.assert_array_equal(after.counts.visitors, before.counts.visitors[:, [2, 0, 1]])
    turned_round = before.counts.conversions[:, ::-1][:, :, [2, 0, 1]]
    np.testing.assert_array_equal(after.counts.conversions, turned_round)


def test_dimensions_that_are_not_summed_up_ahead_are_named(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(
        project,
        *(
            an_exposure(
                experiment,
                number % 2,
                f"v{number}",
                utm_campaign=f"c{number}",
                custom="{" + ",".join(f'"k{key:02d}":"x"' for key in range(22)) + "}",
            )
            for number in range(MOST_VALUES + 1)
        ),
    )
    report = store.results.segments(experiment, project, now=NOW)
    assert report.left_out == {
        "custom:k20": "of custom dimensions, the first 20 by name are summed up ahead",
        "custom:k21": "of custom dimensions, the first 20 by name are summed up ahead",
        "utm_campaign": "it has 201 values, and those of at most 200 are summed up ahead",
    }
    assert "utm_campaign" not in {one.dimension for one in report.goals[0].segments}


def test_planted_difference_is_found_and_a_broken_browser_makes_the_data_untrusted(
    store: WorkingStore, project: Project
) -> None:
    experiment = store.add_experiment(project)
    rows = []
    for number in range(2_000):
        browser = "Safari" if number % 4 == 0 else "Chrome"
        # In Safari the variant loses three of four of its visitors, and more of the others buy.
        shown = int(number % 8 >= 4) if browser == "Chrome" else int(number % 32 == 4)
        rows.append(an_exposure(experiment, shown, f"v{number}", browser=browser, country="DE"))
        if number % 10 == 0 or (browser == "Chrome" and shown and number % 3 == 0):
            rows.append(a_purchase(f"v{number}", minute=1))
    store.write(project, *rows)
    report = store.results.segments(experiment, project, now=NOW, dimension="browser")
    chrome, safari = report.goals[0].segments
    assert (chrome.value, chrome.variants[0].status) == ("Chrome", "better")
    assert safari.variants[0].status == "insufficient_data"
    assert [(one.dimension, one.value) for one in report.split_alarms][:1] == [("browser", "Safari")]
    whole = store.results.report(experiment, project, now=NOW)
    (check,) = [one for one in whole.health if one.check == "sample_ratio_by_segment"]
    assert check.status == "alarm"
    assert "in browser 'Safari'" in check.message
    assert whole.primary is not None
    assert whole.primary.decision.recommendation == "fix_data"


def test_draft_and_experiment_without_visitors_have_no_segments(
    store: WorkingStore, project: Project
) -> None:
    for status in ("draft", "running"):
        report = store.results.segments(store.add_experiment(project, status=status), project, now=NOW)
        assert (report.goals[0].segments, report.splits, report.left_out) == ((), (), {})


@pytest.mark.parametrize("name", ["", "colour", "custom:", "custom", "'; DROP TABLE x; --"])
def test_what_is_no_dimension_is_refused(store: WorkingStore, project: Project, name: str) -> None:
    experiment = store.add_experiment(project)
    with pytest.raises(InvalidFilterError, match="is none of traffic_source, "):
        store.results.segments(experiment, project, now=NOW, dimension=name)


def test_a_dimension_nobody_has_is_empty(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment, country="DE"))
    for dimension in ("region", "custom:plan"):
        report = store.results.segments(experiment, project, now=NOW, dimension=dimension)
        assert report.goals[0].segments == ()
    (only,) = store.results.segments(experiment, project, now=NOW, dimension="country").goals[0].segments
    assert (only.dimension, only.value) == Segment("country", "DE")


def test_read_counts_newer_events_first_or_says_how_old_it_is(tmp_path: Path) -> None:
    with a_working_store(tmp_path, fresh_read_seconds=0.05) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment, country="DE"))
        store.rollup.refresh(project.id)
        store.write(project, an_exposure(experiment, 1, "v2", country="DE"))
        later = NOW + timedelta(hours=1)
        with store.rollup.pause():
            stale = store.results.segment_evidence(experiment, project, now=later)
        store.rollup.refresh(project.id)
        fresh = store.results.segment_evidence(experiment, project, now=later)
    assert (stale.counts.visitors.sum(axis=0)[0], stale.as_of) == (2, NOW)
    assert (fresh.counts.visitors.sum(axis=0).tolist(), fresh.as_of) == ([2, 2], later)
