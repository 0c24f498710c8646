from engine.analysis.analyze import analyze
from engine.analysis.report.messages import by_how_much
from tests.builders import NOW, an_experiment
from tests.observations import observed


def test_a_change_stands_in_brackets_with_its_sign() -> None:
    report = analyze(an_experiment(), observed([1000, 1000], [100, 120]), now=NOW)
    control, variant = report.goals[0].variants
    assert (by_how_much(variant), by_how_much(control)) == (" (+20%)", "")


def test_the_comparison_names_the_level_and_kind_of_its_interval() -> None:
    evidence = observed([10_000] * 2, [1000, 1100])
    frequentist = analyze(an_experiment(), evidence, now=NOW).goals[0].decision.explanation
    assert "(95% confidence interval " in frequentist
    bayesian = analyze(an_experiment(analysis_method="bayesian"), evidence, now=NOW)
    assert "(90% credible interval " in bayesian.goals[0].decision.explanation
