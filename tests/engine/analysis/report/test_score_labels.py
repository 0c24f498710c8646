from engine.analysis.report.score_labels import describe_score


def test_each_method_has_a_label_of_its_own() -> None:
    assert describe_score("frequentist")[0] == "Significance (1-p)"
    assert describe_score("bayesian")[0] == "Chance to beat control"
