"""Kept verdicts: what lists say of a report, and its changes since the last one."""

from dataclasses import replace
from datetime import datetime, timedelta

from engine.analysis.analyze import analyze
from engine.analysis.results.kept_verdict import MOST_CHANGES, KeptVerdict, following, kept_verdict_of
from tests.builders import NOW, an_experiment
from tests.observations import observed


def seen(conversions: tuple[int, int], visitors: tuple[int, int] = (5_000, 5_000)) -> KeptVerdict:
    evidence = replace(observed(list(visitors), list(conversions)), as_of=NOW)
    kept = kept_verdict_of(analyze(an_experiment(status="completed"), evidence, now=NOW, is_finished=True))
    assert kept is not None
    return kept


def at(kept: KeptVerdict, time: datetime) -> KeptVerdict:
    return replace(kept, counted_at=time, since=time)


def test_the_verdict_has_the_lift_that_it_rests_on() -> None:
    kept = seen((500, 700))
    assert (kept.verdict, kept.recommendation_label) == ("ship", "Ship it")
    assert kept.lift is not None
    assert (kept.lift.variant_name, kept.lift.status, kept.visitors) == ("Treatment 1", "winner", 10_000)
    assert round(kept.lift.improvement or 0, 6) == 0.4
    assert kept.lift.improvement_interval is not None


def test_alike_variants_have_a_verdict_of_their_own() -> None:
    assert seen((50_000, 50_010), (500_000, 500_000)).verdict == "no_difference"


def test_alarms_come_first_and_nothing_is_won_beside_them() -> None:
    kept = seen((400, 700), (4_000, 6_000))
    assert kept.verdict == "fix_data"
    assert (kept.open_checks[0].check, kept.open_checks[0].status) == ("sample_ratio", "alarm")
    assert kept.lift is None or kept.lift.status == "inconclusive"


def test_changes_are_told_newest_first_and_a_verdict_has_its_time() -> None:
    sound, broken = at(seen((500, 700)), NOW), at(seen((400, 700), (4_000, 6_000)), NOW + timedelta(days=1))
    later = following(following(None, sound), broken)
    assert (later.since, later.counted_at) == (broken.counted_at, broken.counted_at)
    told = [(one.kind, one.before, one.after) for one in later.changes]
    assert told == [("verdict", "ship", "fix_data"), ("health", None, "sample_ratio")]
    again = following(later, at(broken, NOW + timedelta(days=2)))
    assert (again.since, again.changes) == (broken.counted_at, later.changes)
    healed = following(again, at(sound, NOW + timedelta(days=3)))
    assert [(one.kind, one.before) for one in healed.changes][:2] == [
        ("verdict", "fix_data"),
        ("health", "sample_ratio"),
    ]


def test_an_older_count_replaces_nothing() -> None:
    newer = at(seen((500, 700)), NOW)
    assert following(newer, at(seen((400, 700)), NOW - timedelta(hours=1))) is newer


def test_old_changes_are_given_up() -> None:
    sound, broken = seen((500, 700)), seen((400, 700), (4_000, 6_000))
    kept = following(None, at(sound, NOW))
    for number in range(MOST_CHANGES):
        kept = following(kept, at(broken if number % 2 == 0 else sound, NOW + timedelta(days=number + 1)))
    assert len(kept.changes) == MOST_CHANGES
    assert kept.changes[0].at == NOW + timedelta(days=MOST_CHANGES)
