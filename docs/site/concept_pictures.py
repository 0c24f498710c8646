"""Pictures of the concept pages, drawn from the engine's own numbers: `make pictures`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import altair as alt
import mmh3
import numpy as np
import polars as pl
import vl_convert

import truelift
from engine.stats.sequential.confidence_sequence_boundary import critical_value

FOLDER: Final = Path(__file__).parents[1] / "concepts"
# Okabe and Ito's colors, for color-blind readers.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8a8f98"
WIDTH: Final = 620
# Standard errors of a two-sided test at 5%.
FIXED: Final = 1.96
TRUE_LIFT: Final = 0.05
# "0%", not "+0%".
SIGNED: Final = "datum.value === 0 ? '0%' : format(datum.value, '+.0%')"


def main() -> None:
    """Draw every picture into docs/concepts."""
    for draw in (assignment, exposure, verdict, sequential, cuped, segments):
        specification = draw().configure_view(stroke=None).configure(background="white", padding=12)
        (FOLDER / f"{draw.__name__}.svg").write_text(vl_convert.vegalite_to_svg(specification.to_dict()))


def assignment() -> Any:  # noqa: ANN401  # charts of several kinds
    """Draw the two hashes of 30 visitors: 60% traffic, two variants."""
    rows = []
    for number in range(30):
        share = {
            role: mmh3.hash(f"{role}:exp_checkout:1:visitor-{number}", signed=False) / 2**32 for role in "tv"
        }
        takes_part = share["t"] < 0.6
        variant = ("Control" if share["v"] < 0.5 else "One page") if takes_part else "not in the experiment"
        rows.append({"lane": "1 · traffic", "share": share["t"], "variant": variant})
        rows += [{"lane": "2 · variant", "share": share["v"], "variant": variant}] * takes_part
    bands = pl.DataFrame(
        [
            {"lane": "1 · traffic", "low": 0.0, "high": 0.6, "what": "in the experiment (60%)"},
            {"lane": "2 · variant", "low": 0.0, "high": 0.5, "what": "Control (50%)"},
            {"lane": "2 · variant", "low": 0.5, "high": 1.0, "what": "One page (50%)"},
        ]
    )
    lane = alt.Y("lane:N", title=None)
    x = alt.X("low:Q", title="hash of the visitor, as a share of all hashes").axis(format="%")
    area = (
        alt.Chart(bands)
        .mark_bar(opacity=0.15, color=GREY, height=44, stroke="white")
        .encode(x=x, x2="high", y=lane)
    )
    words = (
        alt.Chart(bands).mark_text(dy=-32, align="left", color="#444").encode(x="low:Q", y=lane, text="what")
    )
    scale = alt.Scale(domain=["Control", "One page", "not in the experiment"], range=[BLUE, ORANGE, GREY])
    shapes = alt.Scale(
        domain=["Control", "One page", "not in the experiment"], range=["circle", "square", "cross"]
    )
    points = (
        alt.Chart(pl.DataFrame(rows))
        .mark_point(filled=True, size=55, opacity=0.9)
        .encode(
            x="share:Q",
            y=lane,
            color=alt.Color("variant:N", scale=scale, title=None),
            shape=alt.Shape("variant:N", scale=shapes, title=None),
        )
    )
    return (area + words + points).properties(width=WIDTH, height=190)


def exposure() -> Any:  # noqa: ANN401  # same
    """Draw the events of one visitor, and which of them count."""
    events = pl.DataFrame(
        [
            {"day": -1.5, "event": "purchase", "counts": "before: for CUPED only"},
            {"day": 0.0, "event": "exposure", "counts": "counts"},
            {"day": 0.2, "event": "exposure again", "counts": "changes nothing"},
            {"day": 1.0, "event": "purchase", "counts": "counts"},
            {"day": 1.02, "event": "purchase, sent twice", "counts": "changes nothing"},
            {"day": 4.0, "event": "purchase", "counts": "counts"},
            {"day": 8.2, "event": "purchase", "counts": "after the window"},
        ]
    ).with_row_index("row")
    x = (
        alt.X("day:Q", title="days since the first exposure")
        .scale(domain=[-2, 10])
        .axis(values=list(range(-2, 11)))
    )
    window = (
        alt.Chart(pl.DataFrame([{"low": 0.0, "high": 7.0}]))
        .mark_rect(opacity=0.12, color=BLUE)
        .encode(x=alt.X("low:Q"), x2="high")
    )
    domain = ["counts", "changes nothing", "before: for CUPED only", "after the window"]
    points = (
        alt.Chart(events)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=x,
            y=alt.Y("row:O", axis=None),
            color=alt.Color("counts:N", title=None).scale(domain=domain, range=[BLUE, GREY, GREEN, ORANGE]),
            shape=alt.Shape("counts:N", title=None).scale(
                domain=domain, range=["circle", "cross", "diamond", "triangle-right"]
            ),
        )
    )
    words = points.mark_text(align="left", dx=10).encode(
        text="event:N", shape=alt.Undefined, color=alt.value("#333")
    )
    return (window + points + words).properties(width=WIDTH - 60, height=230)


def verdict() -> Any:  # noqa: ANN401  # same
    """Draw five experiments with the verdict that the engine gives each."""
    cases = [
        (20_000, 1000, 1180),
        (20_000, 1000, 860),
        (60_000, 3000, 3030),
        (6_000, 300, 318),
        (20_000, 1000, 1010),
    ]
    sizes = [(n, n) for n, _, _ in cases]
    sizes[-1] = (20_000, 18_900)
    rows = []
    for (n, control, variant), (n_control, n_variant) in zip(cases, sizes, strict=True):
        frame = pl.DataFrame(
            {
                "variant": ["Control"] * n_control + ["New"] * n_variant,
                "converted": [1] * control
                + [0] * (n_control - control)
                + [1] * variant
                + [0] * (n_variant - variant),
            }
        ).with_columns(
            first_seen=pl.lit(datetime(2026, 3, 2, tzinfo=UTC))
            + pl.duration(hours=pl.int_range(pl.len()) % (14 * 24))
        )
        report = truelift.analyze(
            frame, control="Control", goals=["converted"], timestamp="first_seen", running=n == 6_000
        )
        result = report.goals[0].variants[1]
        interval = result.improvement_interval
        decision = report.goals[0].decision
        rows.append(
            {
                "case": f"{decision.recommendation_label}  ({n_control + n_variant:,} visitors)",
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "lift": result.improvement,
                "action": decision.recommendation,
            }
        )
    data = pl.DataFrame(rows)
    order = data["case"].to_list()
    zone = (
        alt.Chart(pl.DataFrame([{"low": -0.1, "high": 0.1}]))
        .mark_rect(opacity=0.12, color=GREY)
        .encode(x=alt.X("low:Q"), x2="high")
    )
    zero = alt.Chart(pl.DataFrame([{"x": 0.0}])).mark_rule(strokeDash=[4, 3], color="#444").encode(x="x:Q")
    color = (
        alt.when(alt.datum.action == "ship")
        .then(alt.value(GREEN))
        .when(alt.datum.action == "rollback")
        .then(alt.value(ORANGE))
        .otherwise(alt.value(GREY))
    )
    y = alt.Y("case:N", sort=order, title=None).axis(labelLimit=320)
    bars = alt.Chart(data).mark_rule(strokeWidth=4).encode(x="low:Q", x2="high", y=y, color=color)
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X("lift:Q", title="change of the conversion rate, 95% interval").axis(labelExpr=SIGNED),
            y=y,
            color=color,
        )
    )
    return (zone + zero + bars + points).properties(width=WIDTH - 200, height=200)


def sequential() -> Any:  # noqa: ANN401  # same
    """Draw the share of 4,000 tests without a difference that look significant by a day, looked at daily."""
    tests, days = 4_000, 28
    steps = np.random.default_rng(7).standard_normal((tests, days)).cumsum(axis=1)
    day = np.arange(1, days + 1)
    z = np.abs(steps / np.sqrt(day))
    always = critical_value(day / days, 0.05)
    rows = [
        {"day": int(one), "share": float(hits[one - 1]), "rule": rule}
        for rule, limit in (("p < 5% at any look", FIXED), ("always valid", always))
        for hits in [np.maximum.accumulate(z > limit, axis=1).mean(axis=0)]
        for one in day
    ]
    level = alt.Chart(pl.DataFrame([{"y": 0.05}])).mark_rule(strokeDash=[4, 3], color="#444").encode(y="y:Q")
    lines = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(strokeWidth=3, point=False)
        .encode(
            x=alt.X("day:Q", title="day").axis(tickMinStep=7),
            y=alt.Y("share:Q", title="tests called a win or a loss so far").axis(format="%"),
            color=alt.Color("rule:N", title=None).scale(
                domain=["p < 5% at any look", "always valid"], range=[ORANGE, BLUE]
            ),
            strokeDash=alt.StrokeDash("rule:N", legend=None),
        )
    )
    return (level + lines).properties(width=WIDTH - 140, height=240)


def cuped() -> Any:  # noqa: ANN401  # same
    """Draw the intervals of one experiment with and without the spending before it."""
    rows = []
    for seed in range(1, 9):
        visitors = truelift.simulate(20_000, seed=seed, lifts={"control": 0.0, "treatment": 0.0})
        factor = pl.when(variant="treatment").then(1 + TRUE_LIFT).otherwise(1.0)
        # Visitors spend much like before.
        frame = visitors.with_columns(spend=(pl.col("revenue") + pl.col("revenue_before")) * factor)
        report = truelift.analyze(
            frame, control="control", goals={"spend": truelift.Revenue(covariates="revenue_before")}
        )
        result = report.goals[0].variants[1]
        plain = result.details.unadjusted
        if plain is None or plain.improvement_interval is None or result.improvement_interval is None:
            raise ValueError(f"no adjusted interval with seed {seed}")
        for kind, lift, interval in (
            ("unadjusted", plain.improvement, plain.improvement_interval),
            ("CUPED", result.improvement, result.improvement_interval),
        ):
            rows.append(
                {"test": seed, "kind": kind, "lift": lift, "low": interval.low, "high": interval.high}
            )
    y = alt.Y("kind:N", title=None, sort=["unadjusted", "CUPED"]).axis(labels=False, ticks=False)
    color = alt.Color("kind:N", title=None).scale(domain=["unadjusted", "CUPED"], range=[GREY, BLUE])
    data = pl.DataFrame(rows)
    x = alt.X("low:Q", title="change of revenue per visitor, 95% interval").axis(labelExpr=SIGNED)
    bars = alt.Chart(data).mark_rule(strokeWidth=4).encode(x=x, x2="high", y=y, color=color)
    points = alt.Chart(data).mark_point(filled=True, size=50, opacity=1).encode(x="lift:Q", y=y, color=color)
    truth = alt.Chart(data).mark_rule(strokeDash=[4, 3], color="#444").encode(x=alt.datum(TRUE_LIFT))
    return (
        alt.layer(truth, bars, points)
        .properties(width=WIDTH - 120, height=28)
        .facet(row=alt.Row("test:O", title="simulated test").header(labelAngle=0), spacing=4)
    )


def segments() -> Any:  # noqa: ANN401  # same
    """Draw the lift of 12 countries that share one true lift, as measured and as pooled."""
    rng = np.random.default_rng(12)
    visitors = 40_000
    shares = np.array([0.3, 0.2, 0.12, 0.1, 0.08, 0.06, 0.04, 0.03, 0.03, 0.02, 0.01, 0.01])
    countries = np.array(["US", "DE", "FR", "GB", "IT", "ES", "NL", "SE", "PL", "AT", "PT", "FI"])
    treated = rng.random(visitors) < 0.5
    frame = pl.DataFrame(
        {
            "variant": np.where(treated, "treatment", "control"),
            "country": rng.choice(countries, visitors, p=shares),
            "converted": (rng.random(visitors) < np.where(treated, 0.11, 0.10)).astype(int),
        }
    )
    report = truelift.analyze_segments(frame, segments=["country"], control="control", goals=["converted"])
    return truelift.chart_segment_report(report)


if __name__ == "__main__":
    main()
