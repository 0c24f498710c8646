"""Label and description of the score of each analysis method."""

from engine.vocabulary import Alternative, AnalysisMethod

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


_ONE_SIDED = (
    "1 minus the one-sided p-value: how rarely a gain this large would occur without a true difference."
)


def describe_score(method: AnalysisMethod, alternative: Alternative = "two_sided") -> tuple[str, str]:
    """Return the label and the description of a method's score."""
    label, description = _SCORES[method]
    return label, _ONE_SIDED if alternative == "one_sided" else description
