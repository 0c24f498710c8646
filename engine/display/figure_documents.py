"""Documents of a sample size and of error rates: a table of their figures."""

from engine.analysis.results.formatting import figure, share
from engine.calibration.error_rates import ErrorRates
from engine.design.planning.calculator import SampleAnswer
from engine.display.document import Document, Table


def document_of_sample(answer: SampleAnswer) -> Document:
    """Build the document of a sample size; effects are percents."""
    effect = None if answer.detectable_effect is None else f"{figure(answer.detectable_effect)}%"
    figures = (
        ("Visitors per variant", _count(answer.visitors_per_variant)),
        ("Visitors in total", _count(answer.visitors_total)),
        ("Detectable change", effect or "none"),
        ("Days", _count(answer.days)),
        ("Days in whole weeks", _count(answer.days_in_whole_weeks)),
    )
    return Document(
        summary=tuple(f"{name}: {value}" for name, value in figures),
        blocks=(Table(title="Sample size", headings=("Plan", "Value"), rows=figures),),
    )


def document_of_error_rates(rates: ErrorRates) -> Document:
    """Build the document of the error rates of a method in a case."""
    coverage = "no intervals" if rates.coverage is None else share(rates.coverage.value)
    kept = "kept" if rates.keeps_promise else "broken"
    figures = (
        (
            "False positives",
            f"{share(rates.false_positives.value)} ({share(rates.method.error_rate)} promised)",
        ),
        ("Coverage", coverage),
        ("Power", share(rates.power.value)),
        ("Promise", kept),
    )
    title = f"{rates.method.name} in {rates.setting.name}, {rates.runs:,} simulated tests"
    return Document(
        summary=(title, *(f"{name}: {value}" for name, value in figures)),
        blocks=(Table(title=title, headings=("Error rate", "Value"), rows=figures),),
    )


def _count(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"
