"""Tests that should not run together: effects that another test's variant changes."""

from engine.analysis.evidence.interactions import Interaction
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share, signed


def interacting_tests(check_input: CheckInput) -> CheckResult:
    """Warn where an effect depends on the variant of another test, by last night's comparison.

    The effect of either test on its primary goal, among visitors in both. False discoveries among the pairs
    of a night are controlled (`pair_interactions.FALSE_DISCOVERY_RATE`), however many nights there are.
    """
    found = check_input.evidence.interactions
    if found is None:
        return CheckResult(
            "not_applicable", "Tests that run at once are compared in the service each night.", {}
        )
    details = {
        "night": found.day,
        "compared": list(found.compared),
        "not_available": dict(found.left_out),
        "interactions": [
            {
                "test_id": one.test_id,
                "goal": one.goal,
                "variant": one.variant,
                "other_test_id": one.other_id,
                "other_variant": one.other_variant,
                "visitors": one.visitors,
                "change_alone": one.alone,
                "change_together": one.together,
                "false_discovery_rate": one.q_value,
            }
            for one in found.found
        ],
    }
    if found.unavailable is not None:
        return CheckResult("not_applicable", f"Not compared with other tests: {found.unavailable}.", details)
    if found.found:
        return CheckResult("warning", " ".join(_sentence(one) for one in found.found), details)
    lacking = "".join(f" '{name}' is not available: {reason}." for name, reason in found.left_out.items())
    if not found.compared:
        return CheckResult("not_applicable", f"No other test has enough of these visitors.{lacking}", details)
    tests = f"{len(found.compared)} other test" + ("" if len(found.compared) == 1 else "s")
    message = f"No effect is found to depend on the {tests} that visitors are in, too.{lacking}"
    return CheckResult("ok", message, details)


def _sentence(found: Interaction) -> str:
    return (
        f"'{found.test}' and '{found.other}' should not run together: '{found.variant}' changes "
        f"'{found.goal}' by {_change(found.alone)} beside the control of '{found.other}', and by "
        f"{_change(found.together)} beside '{found.other_variant}' ({found.visitors:,} visitors, false "
        f"discovery rate {share(found.q_value) if found.q_value >= 1e-4 else 'below 0.01%'})."
    )


def _change(value: float | None) -> str:
    return "an unknown share" if value is None else signed(value)
