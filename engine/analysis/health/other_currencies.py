"""Check for orders in currencies that a revenue goal does not count."""

from engine.analysis.evidence.other_currencies import OtherCurrencies
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import listed, share

# From this share of a goal's orders on, its revenue says too little.
ALARM_SHARE = 0.01


def other_currencies(check_input: CheckInput) -> CheckResult:
    """Warn of orders that are stored and not counted, because their currency has no exchange rate."""
    found = check_input.evidence.other_currencies
    if found is None:
        return CheckResult("not_applicable", "The currencies of these data are not known.", {})
    goals = check_input.experiment.goals
    details = {
        "goals": [
            {"goal_id": goals[one.goal].id, "orders": one.orders, "others": dict(one.others)} for one in found
        ]
    }
    if not found:
        return CheckResult("ok", "Every order is in a currency that its goal counts.", details)
    is_alarm = any(sum(one.others.values()) >= ALARM_SHARE * one.orders for one in found)
    sentences = [_sentence(goals[one.goal].name, one) for one in found]
    advice = "Add the missing currencies to the project's exchange_rates: these orders then count, too."
    return CheckResult("alarm" if is_alarm else "warning", " ".join([*sentences, advice]), details)


def _sentence(name: str, found: OtherCurrencies) -> str:
    number = sum(found.others.values())
    verb = "is" if number == 1 else "are"
    currencies = listed([f"{orders:,} in {code}" for code, orders in sorted(found.others.items())])
    return (
        f"{share(number / found.orders)} of the orders of '{name}' {verb} not counted, because their "
        f"currency has no exchange rate: {currencies}."
    )
