from typing import Any

import numpy as np
import pytest

from engine.analysis.evidence.segments import Segment, SegmentVisitors
from engine.analysis.health.check_result import CheckResult
from engine.analysis.health.segment_sample_ratio import MOST_LISTED, sample_ratio_by_segment
from tests.builders import an_experiment
from tests.observations import check_input, observed

SOUND, BROKEN = [5_000, 5_040], [2_600, 1_900]


def found(segments: dict[tuple[str, str], list[int]] | None, **experiment: Any) -> CheckResult:
    known = None
    if segments is not None:
        names = tuple(Segment(*name) for name in segments)
        visitors = np.array(list(segments.values()), np.int64).reshape(-1, 2)
        known = SegmentVisitors(names, visitors, frozenset({"os", "browser"}))
    evidence = observed([9_000, 9_000], [10, 10], segments=known)
    return sample_ratio_by_segment(check_input(an_experiment(**experiment), evidence))


def test_sound_segments_are_fine() -> None:
    finding = found({("os", "iOS"): SOUND, ("os", "Android"): SOUND})
    assert (finding.status, finding.details["segments"], finding.details["worst"]) == ("ok", 2, [])


def test_a_browser_that_loses_visitors_alarms_and_is_named() -> None:
    finding = found({("browser", "Chrome"): SOUND, ("browser", "Safari"): BROKEN})
    assert finding.status == "alarm"
    assert "in browser 'Safari', 'Control' has 57.8% of the visitors instead of 50%" in finding.message
    assert "If the variant itself changes which visitors are in the segment" in finding.message
    worst: Any = finding.details["worst"]
    assert len(worst) == 1
    assert worst[0]["visitors"] == {"Control": 2_600, "Treatment 1": 1_900}
    assert worst[0]["adjusted_always_valid_p_value"] < 0.001


@pytest.mark.parametrize("dimension", ["utm_source", "visitor_type", "custom:plan"])
def test_a_segment_that_the_variant_may_have_made_is_a_warning(dimension: str) -> None:
    finding = found({(dimension, "spring"): BROKEN, ("os", "iOS"): SOUND})
    assert finding.status == "warning"
    assert "redirect that drops campaign tags" in finding.message


def test_the_worst_are_named_and_the_others_counted() -> None:
    finding = found({("os", str(i)): [2_600, 1_900 - i] for i in range(30)})
    assert finding.message.count("instead of") == 3
    assert "in os '29'" in finding.message
    assert "and 27 more" in finding.message
    assert finding.details["broken"] == 30
    assert len(finding.details["worst"]) == MOST_LISTED  # type: ignore[arg-type] # JSON


def test_without_segments_or_for_a_bandit_there_is_nothing_to_check() -> None:
    broken = {("os", "iOS"): BROKEN}
    assert found(None).status == found({}).status == "not_applicable"
    assert found(broken, traffic_strategy="bandit").status == "not_applicable"
    assert found(broken, weights=(1, 0)).status == "not_applicable"
