"""Label and description of the score of each analysis method."""

from engine.design.vocabulary import AnalysisMethod

_SCORES: dict[AnalysisMethod, tuple[str, str]] = {
    "frequentist": (
        "Significance (1-p)",
        "How rarely a difference at least this large would show up if the two were equally good.",
    ),
    "bayesian": (
        "Chance to beat control",
        "How likely it is, given the data, that the variant is truly better than the control.",
    ),
}


def describe_score(method: AnalysisMethod) -> tuple[str, str]:
    """Return the label and the description of a method's score."""
    return _SCORES[method]
