"""Command `plan`: the visitors and days that a test needs."""

from typing import Annotated, Literal

import typer

from api.cli.console import out, print_json
from api.cli.options import AsJson


def plan(
    baseline_rate: Annotated[
        float | None, typer.Option("--baseline-rate", help="Conversion rate of the control, in percent.")
    ] = None,
    baseline_mean: Annotated[
        float | None,
        typer.Option("--baseline-mean", help="Instead of a rate: mean per visitor of control, any unit."),
    ] = None,
    standard_deviation: Annotated[
        float | None,
        typer.Option(
            "--standard-deviation", help="Standard deviation per visitor, in the unit of --baseline-mean."
        ),
    ] = None,
    effect: Annotated[
        float | None, typer.Option("--effect", help="Change to detect, in percent of the control.")
    ] = None,
    visitors_per_variant: Annotated[
        int | None,
        typer.Option("--visitors-per-variant", help="Instead of --effect: the visitors that you will have."),
    ] = None,
    daily_visitors: Annotated[
        float | None,
        typer.Option("--daily-visitors", help="Visitors a day, all variants together; gives the days."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", help="Days until an outcome is known: a goal's window, or of retention."),
    ] = None,
    confidence: Annotated[int, typer.Option("--confidence", help="Confidence level in percent.")] = 95,
    alternative: Annotated[
        Literal["two_sided", "one_sided"],
        typer.Option("--alternative", help="one_sided tests the wanted direction alone."),
    ] = "two_sided",
    power: Annotated[
        float, typer.Option("--power", help="Percent of tests that detect a true effect of that size.")
    ] = 80.0,
    variants: Annotated[
        int, typer.Option("--variants", help="Number of variants, the control included.")
    ] = 2,
    method: Annotated[
        Literal["fixed", "always_valid", "group_sequential"],
        typer.Option("--method", help="fixed: one look at the end; the others: several."),
    ] = "fixed",
    looks: Annotated[
        int, typer.Option("--looks", help="Number of looks of always_valid and group_sequential.")
    ] = 28,
    margin: Annotated[
        float | None,
        typer.Option("--margin", help="Acceptable loss in percent, for a test of non-inferiority."),
    ] = None,
    guardrails: Annotated[
        int,
        typer.Option(
            "--guardrails",
            help="Guardrails to be shown non-inferior, which share the power; with --margin: of one of them.",
        ),
    ] = 0,
    correlation: Annotated[
        float,
        typer.Option("--correlation", help="Correlation with a covariate from before the test (CUPED)."),
    ] = 0.0,
    cluster_size: Annotated[
        float | None,
        typer.Option(
            "--cluster-size", help="Visitors of an account or store on average, if those are assigned."
        ),
    ] = None,
    cluster_size_variation: Annotated[
        float,
        typer.Option("--cluster-size-variation", help="Standard deviation of cluster sizes over their mean."),
    ] = 0.0,
    intra_class_correlation: Annotated[
        float | None,
        typer.Option("--intra-class-correlation", help="Correlation of the visitors of a cluster, 0 to 1."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the visitors and days to detect an effect, or the effect that your visitors can detect."""
    from api.cli.analysis.document_blocks import render_document
    from engine.design.planning.calculator import SampleQuestion, answer, effect_of_clusters
    from engine.display.figure_documents import document_of_sample

    found = answer(
        SampleQuestion(
            baseline_rate=baseline_rate,
            baseline_mean=baseline_mean,
            standard_deviation=standard_deviation,
            effect=effect,
            visitors_per_variant=visitors_per_variant,
            daily_visitors=daily_visitors,
            window=window,
            confidence_level=confidence,
            alternative=alternative,
            power=power,
            variants=variants,
            method=method,
            looks=looks,
            margin=margin,
            guardrails=guardrails,
            correlation=correlation,
            design_effect=effect_of_clusters(cluster_size, intra_class_correlation, cluster_size_variation),
        )
    )
    if as_json:
        print_json(found.to_dict())
    else:
        out.print(render_document(document_of_sample(found)))
