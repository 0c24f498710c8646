"""Label and description of the score of each analysis method."""

from engine.design.vocabulary import AnalysisMethod

_SCORES: dict[AnalysisMethod, tuple[str, str]] = {
    "frequentist": (
        "Significance (1-p)",
        "1 minus the p-value: how rarely a difference this large would occur without a true difference.",
    ),
    "bayesian": (
        "Chance to beat control",
        "Probability, given the data, that the variant is better than the control.",
    ),
}


def describe_score(method: AnalysisMethod) -> tuple[str, str]:
    """Return the label and the description of a method's score."""
    return _SCORES[method]
