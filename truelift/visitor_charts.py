"""Charts of visitors: distribution of a goal's values by variant, and a goal against its covariate."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from engine.analysis.results.formatting import share
from engine.analysis.results.report import Report
from engine.charts.altair_module import load_altair
from engine.charts.themes import SERIES, Theme, config_of
from engine.errors import InvalidEvidenceError
from engine.frames.rows import collected
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.value_bins import bin_edges, count_in_bins, without_zeros

if TYPE_CHECKING:
    from altair import Chart, LayerChart

__all__ = ["chart_covariate", "chart_distribution"]

_WIDTH: Final = 520
_HEIGHT: Final = 260
_BINS: Final = 40
_MOST_POINTS: Final = 500


def chart_distribution(  # noqa: PLR0913  # as `analyze`, with the names of its columns
    report: Report,
    visitors: Any,  # noqa: ANN401  # any frame that narwhals supports
    column: str,
    *,
    variant: str = "variant",
    visitor: str | None = None,
    theme: Theme = "light",
) -> "Chart":
    """Chart the distribution of a column, such as a goal's values, by variant of a report.

    `visitors` is the frame that was analyzed, `visitor` its column of ids where a visitor has several rows,
    which are added up. Shares are of all visitors of the variant whose value is known. Zeros are told in the
    legend and not drawn, and values above the 99th percentile are in the last bin.

    Raises InvalidEvidenceError for a frame without the columns or without values.
    """
    alt = load_altair()
    values = _by_variant(report, visitors, [column], variant=variant, visitor=visitor)
    rows = distribution(values, column)
    labels = list(dict.fromkeys(row["label"] for row in rows))
    chart: Chart = (
        alt.Chart(
            alt.Data(values=rows),
            title=alt.Title(
                f"{column}: distribution by variant",
                subtitle="values other than 0; the last bin has all larger ones, too",
            ),
            width=_WIDTH,
            height=_HEIGHT,
        )
        .mark_line(interpolate="step", strokeWidth=2)
        .encode(
            x=alt.X("middle:Q", title=column),
            y=alt.Y("share:Q", title="share of visitors").axis(format=".2~%"),
            color=alt.Color("label:N", title=None).scale(
                domain=labels, range=[SERIES[place % len(SERIES)] for place in range(len(labels))]
            ),
            tooltip=[
                "label:N",
                "from:Q",
                "to:Q",
                alt.Tooltip("visitors:Q", format=","),
                alt.Tooltip("share:Q", format=".2~%"),
            ],
        )
        .configure(**config_of(theme))
    )
    return chart


def distribution(values: Mapping[str, pl.DataFrame], column: str) -> list[dict[str, Any]]:
    """Count the visitors of each variant by bin of a column; `to` is None in the last bin."""
    known = {name: ValueCounts.of(one[column].drop_nulls().to_numpy()) for name, one in values.items()}
    drawn = {name: without_zeros(one) for name, one in known.items()}
    if not (arms := [one for one in drawn.values() if one.n]):
        raise InvalidEvidenceError(f"no visitor has a value of {column!r} other than 0")
    edges = bin_edges(arms, most=_BINS)
    rows, width = [], float(edges[1] - edges[0])
    for name, one in known.items():
        if not one.n:
            continue
        label = f"{name} ({share(1.0 - drawn[name].n / one.n)} at 0)"
        counts = count_in_bins(drawn[name], edges).tolist()
        for place, found in enumerate(counts):
            rows.append(
                {
                    "variant": name,
                    "label": label,
                    "from": float(edges[place]),
                    "to": float(edges[place + 1]) if place < len(counts) - 1 else None,
                    "middle": float(edges[place]) + width / 2.0,
                    "visitors": int(found),
                    "share": found / one.n,
                }
            )
    return rows


def chart_covariate(  # noqa: PLR0913  # as `analyze`, with the names of its columns
    report: Report,
    visitors: Any,  # noqa: ANN401  # any frame that narwhals supports
    column: str,
    covariate: str,
    *,
    variant: str = "variant",
    visitor: str | None = None,
    theme: Theme = "light",
) -> "LayerChart":
    """Chart a goal's values against a covariate from before the experiment, with the line of each variant.

    Lines and the correlation, which is that within variants, are of all visitors; at most 500 evenly spread
    ones are drawn. The variance that CUPED removes is the square of the correlation. Raises
    InvalidEvidenceError for a frame without the columns, or without visitors whose both values are known.
    """
    alt = load_altair()
    both = _by_variant(report, visitors, [column, covariate], variant=variant, visitor=visitor)
    known = {name: one.drop_nulls() for name, one in both.items()}
    lines, correlation = covariate_lines(known, column, covariate)
    total = sum(one.height for one in known.values())
    # Each variant begins with one more.
    step = max(1, -(-total // (_MOST_POINTS - len(known))))
    points = [
        {"variant": name, "x": x, "y": y}
        for name, one in known.items()
        for x, y in one.gather_every(step).select(covariate, column).iter_rows()
    ]
    names = list(known)
    colour = alt.Color("variant:N", title=None).scale(
        domain=names, range=[SERIES[place % len(SERIES)] for place in range(len(names))]
    )
    x, y = alt.X("x:Q", title=covariate), alt.Y("y:Q", title=column)
    drawn = f"every {step}th of {total:,} visitors" if step > 1 else f"{total:,} visitors"
    chart: LayerChart = (
        alt.layer(
            alt.Chart(alt.Data(values=points))
            .mark_circle(size=14, opacity=0.35)
            .encode(x=x, y=y, color=colour),
            alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour),
        )
        .properties(
            width=_WIDTH,
            height=_HEIGHT,
            title=alt.Title(
                f"{column} against {covariate}",
                subtitle=f"correlation {correlation:.2f}: CUPED removes {share(correlation**2)} of the"
                f" variance · {drawn}",
            ),
        )
        .configure(**config_of(theme))
    )
    return chart


def covariate_lines(
    known: Mapping[str, pl.DataFrame], column: str, covariate: str
) -> tuple[list[dict[str, Any]], float]:
    """Return both ends of each variant's line with the common slope, and the correlation within variants."""
    pairs = {
        name: (one[covariate].to_numpy().astype(float), one[column].to_numpy().astype(float))
        for name, one in known.items()
        if one.height
    }
    if not pairs:
        raise InvalidEvidenceError(f"no visitor has both {column!r} and {covariate!r}")
    centred = [(x - x.mean(), y - y.mean()) for x, y in pairs.values()]
    xx, yy, xy = (
        sum(float(np.dot(one[left], one[right])) for one in centred)
        for left, right in ((0, 0), (1, 1), (0, 1))
    )
    slope = xy / xx if xx > 0 else 0.0
    lines = [
        {"variant": name, "x": float(end), "y": float(y.mean() + slope * (end - x.mean()))}
        for name, (x, y) in pairs.items()
        for end in (x.min(), x.max())
    ]
    return lines, xy / (xx * yy) ** 0.5 if xx > 0 and yy > 0 else 0.0


def _by_variant(
    report: Report,
    visitors: Any,  # noqa: ANN401  # any frame that narwhals supports
    columns: Sequence[str],
    *,
    variant: str,
    visitor: str | None,
) -> dict[str, pl.DataFrame]:
    """Take the columns as numbers of visitors, by the name of the variant in the order of the report.

    What is no finite number is unknown.
    """
    taken = list(dict.fromkeys([variant, *columns, *([] if visitor is None else [visitor])]))
    numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in columns]
    frame = collected(visitors, taken).with_columns(pl.col(variant).cast(pl.String), *numbers)
    frame = frame.with_columns(pl.when(pl.col(name).is_finite()).then(name) for name in columns)
    if visitor is not None:
        # A visitor of whom no row has a value has none.
        known = [pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in columns]
        frame = frame.group_by(visitor, maintain_order=True).agg(pl.col(variant).first(), *known)
    names = [one.name for one in report.experiment.variants]
    return {name: frame.filter(pl.col(variant) == name).select(columns) for name in names}


def _number(value: Any) -> float:  # noqa: ANN401  # of a column of numbers
    return float(value)
