from engine.analysis.report.score_labels import describe_score


def test_each_method_has_a_label_of_its_own() -> None:
    assert describe_score("frequentist")[0] == "Significance (1-p)"
    assert describe_score("bayesian")[0] == "Chance to beat control"


def test_a_one_sided_score_says_so() -> None:
    label, description = describe_score("frequentist", "one_sided")
    assert label == describe_score("frequentist")[0]
    assert "one-sided p-value" in description
