"""The public Python API: analysis, planning, charts, snapshots and the client, loaded on first use."""

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.analysis.results.report import (
        DayResult,
        DecisionSummary,
        GoalReport,
        GoalSummary,
        HealthCheck,
        Report,
    )
    from engine.analysis.results.segment_report import (
        GoalSegments,
        SegmentReport,
        SegmentResult,
        SegmentVariant,
    )
    from engine.analysis.results.variant_result import FunnelStep, Interval, Unadjusted, VariantResult
    from engine.calibration.error_rates import DEFAULT_SETTINGS as CALIBRATION_CASES
    from engine.calibration.error_rates import ErrorRates, calibrate
    from engine.calibration.methods import METHODS as CALIBRATION_METHODS
    from engine.calibration.trials import Setting
    from engine.charts.forest import chart_improvements
    from engine.charts.goals_table import chart_goals
    from engine.charts.lift_over_time import chart_lift
    from engine.charts.notebook_renderer import draw_in_notebooks
    from engine.charts.power_curve import chart_power
    from engine.charts.report import chart_rates, chart_weights
    from engine.charts.segments import chart_segment_report
    from engine.design.analysis_settings import Statistics
    from engine.design.planning.calculator import SampleAnswer
    from engine.errors import (
        EngineError,
        InvalidDesignError,
        InvalidEvidenceError,
        MissingSamplerError,
        NotConvergedError,
        SamplingError,
    )
    from engine.frames.analyze import analyze_frame as analyze
    from engine.frames.kinds import Converted, Count, Funnel, Mean, Quantile, Ratio, Retained, Revenue, Value
    from engine.frames.quantiles import QuantileResult
    from engine.frames.quantiles import analyze_frame_quantiles as analyze_quantiles
    from engine.frames.segments import analyze_frame_segments as analyze_segments
    from engine.frames.switchbacks import Switchback, switchback_schedule
    from engine.simulation.bandits import simulate_bandits
    from engine.stats.bayesian.sampling import Sampling
    from pipeline.assignment.frame_assignment import assign_frame as assign
    from pipeline.events.attributes import InvalidAttributesError
    from pipeline.snapshots.manifest import UnreadableSnapshotError
    from pipeline.snapshots.reader import Snapshot, open_snapshot
    from truelift.client.assigned_variants import AssignedVariants
    from truelift.client.async_client import AsyncClient
    from truelift.client.client import Client
    from truelift.client.decisions import Change, Decision
    from truelift.client.openfeature import TrueliftProvider
    from truelift.client.visitor_cookie import VisitorCookie
    from truelift.planning import sample_size
    from truelift.remote.remote_service import RemoteService, connect
    from truelift.remote.rest_reader import RemoteError
    from truelift.simulation import simulate
    from truelift.visitor_charts import chart_covariate, chart_distribution

__all__ = [
    "CALIBRATION_CASES",
    "CALIBRATION_METHODS",
    "AssignedVariants",
    "AsyncClient",
    "Change",
    "Client",
    "Converted",
    "Count",
    "DayResult",
    "Decision",
    "DecisionSummary",
    "EngineError",
    "ErrorRates",
    "Funnel",
    "FunnelStep",
    "GoalReport",
    "GoalSegments",
    "GoalSummary",
    "HealthCheck",
    "Interval",
    "InvalidAttributesError",
    "InvalidDesignError",
    "InvalidEvidenceError",
    "Mean",
    "MissingSamplerError",
    "NotConvergedError",
    "Quantile",
    "QuantileResult",
    "Ratio",
    "RemoteError",
    "RemoteService",
    "Report",
    "Retained",
    "Revenue",
    "SampleAnswer",
    "Sampling",
    "SamplingError",
    "SegmentReport",
    "SegmentResult",
    "SegmentVariant",
    "Setting",
    "Snapshot",
    "Statistics",
    "Switchback",
    "TrueliftProvider",
    "Unadjusted",
    "UnreadableSnapshotError",
    "Value",
    "VariantResult",
    "VisitorCookie",
    "analyze",
    "analyze_quantiles",
    "analyze_segments",
    "assign",
    "calibrate",
    "chart_covariate",
    "chart_distribution",
    "chart_goals",
    "chart_improvements",
    "chart_lift",
    "chart_power",
    "chart_rates",
    "chart_segment_report",
    "chart_weights",
    "connect",
    "draw_in_notebooks",
    "open_snapshot",
    "sample_size",
    "simulate",
    "simulate_bandits",
    "switchback_schedule",
]

# Public name → the module that defines it, and its name there.
_SOURCES = {
    "CALIBRATION_CASES": ("engine.calibration.error_rates", "DEFAULT_SETTINGS"),
    "CALIBRATION_METHODS": ("engine.calibration.methods", "METHODS"),
    "AssignedVariants": ("truelift.client.assigned_variants", "AssignedVariants"),
    "AsyncClient": ("truelift.client.async_client", "AsyncClient"),
    "Change": ("truelift.client.decisions", "Change"),
    "Client": ("truelift.client.client", "Client"),
    "Converted": ("engine.frames.kinds", "Converted"),
    "Count": ("engine.frames.kinds", "Count"),
    "DayResult": ("engine.analysis.results.report", "DayResult"),
    "Decision": ("truelift.client.decisions", "Decision"),
    "DecisionSummary": ("engine.analysis.results.report", "DecisionSummary"),
    "EngineError": ("engine.errors", "EngineError"),
    "ErrorRates": ("engine.calibration.error_rates", "ErrorRates"),
    "Funnel": ("engine.frames.kinds", "Funnel"),
    "FunnelStep": ("engine.analysis.results.variant_result", "FunnelStep"),
    "GoalReport": ("engine.analysis.results.report", "GoalReport"),
    "GoalSegments": ("engine.analysis.results.segment_report", "GoalSegments"),
    "GoalSummary": ("engine.analysis.results.report", "GoalSummary"),
    "HealthCheck": ("engine.analysis.results.report", "HealthCheck"),
    "Interval": ("engine.analysis.results.variant_result", "Interval"),
    "InvalidAttributesError": ("pipeline.events.attributes", "InvalidAttributesError"),
    "InvalidDesignError": ("engine.errors", "InvalidDesignError"),
    "InvalidEvidenceError": ("engine.errors", "InvalidEvidenceError"),
    "Mean": ("engine.frames.kinds", "Mean"),
    "MissingSamplerError": ("engine.errors", "MissingSamplerError"),
    "NotConvergedError": ("engine.errors", "NotConvergedError"),
    "Quantile": ("engine.frames.kinds", "Quantile"),
    "QuantileResult": ("engine.frames.quantiles", "QuantileResult"),
    "Ratio": ("engine.frames.kinds", "Ratio"),
    "RemoteError": ("truelift.remote.rest_reader", "RemoteError"),
    "RemoteService": ("truelift.remote.remote_service", "RemoteService"),
    "Report": ("engine.analysis.results.report", "Report"),
    "Retained": ("engine.frames.kinds", "Retained"),
    "Revenue": ("engine.frames.kinds", "Revenue"),
    "SampleAnswer": ("engine.design.planning.calculator", "SampleAnswer"),
    "Sampling": ("engine.stats.bayesian.sampling", "Sampling"),
    "SamplingError": ("engine.errors", "SamplingError"),
    "SegmentReport": ("engine.analysis.results.segment_report", "SegmentReport"),
    "SegmentResult": ("engine.analysis.results.segment_report", "SegmentResult"),
    "SegmentVariant": ("engine.analysis.results.segment_report", "SegmentVariant"),
    "Setting": ("engine.calibration.trials", "Setting"),
    "Snapshot": ("pipeline.snapshots.reader", "Snapshot"),
    "Statistics": ("engine.design.analysis_settings", "Statistics"),
    "Switchback": ("engine.frames.switchbacks", "Switchback"),
    "TrueliftProvider": ("truelift.client.openfeature", "TrueliftProvider"),
    "Unadjusted": ("engine.analysis.results.variant_result", "Unadjusted"),
    "UnreadableSnapshotError": ("pipeline.snapshots.manifest", "UnreadableSnapshotError"),
    "Value": ("engine.frames.kinds", "Value"),
    "VariantResult": ("engine.analysis.results.variant_result", "VariantResult"),
    "VisitorCookie": ("truelift.client.visitor_cookie", "VisitorCookie"),
    "analyze": ("engine.frames.analyze", "analyze_frame"),
    "analyze_quantiles": ("engine.frames.quantiles", "analyze_frame_quantiles"),
    "analyze_segments": ("engine.frames.segments", "analyze_frame_segments"),
    "assign": ("pipeline.assignment.frame_assignment", "assign_frame"),
    "calibrate": ("engine.calibration.error_rates", "calibrate"),
    "chart_covariate": ("truelift.visitor_charts", "chart_covariate"),
    "chart_distribution": ("truelift.visitor_charts", "chart_distribution"),
    "chart_goals": ("engine.charts.goals_table", "chart_goals"),
    "chart_improvements": ("engine.charts.forest", "chart_improvements"),
    "chart_lift": ("engine.charts.lift_over_time", "chart_lift"),
    "chart_power": ("engine.charts.power_curve", "chart_power"),
    "chart_rates": ("engine.charts.report", "chart_rates"),
    "chart_segment_report": ("engine.charts.segments", "chart_segment_report"),
    "chart_weights": ("engine.charts.report", "chart_weights"),
    "connect": ("truelift.remote.remote_service", "connect"),
    "draw_in_notebooks": ("engine.charts.notebook_renderer", "draw_in_notebooks"),
    "open_snapshot": ("pipeline.snapshots.reader", "open_snapshot"),
    "sample_size": ("truelift.planning", "sample_size"),
    "simulate": ("truelift.simulation", "simulate"),
    "simulate_bandits": ("engine.simulation.bandits", "simulate_bandits"),
    "switchback_schedule": ("engine.frames.switchbacks", "switchback_schedule"),
}


if not TYPE_CHECKING:
    # Hidden from the type checker, for which any name would exist then.
    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562)."""
        if name not in _SOURCES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _SOURCES[name]
        value = getattr(import_module(module), attribute)
        if isinstance(value, FunctionType):
            # Help and messages name a function as its users do.
            for function in (value, getattr(value, "__wrapped__", value)):
                function.__module__, function.__qualname__, function.__name__ = __name__, name, name
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, for completion."""
    return sorted(__all__)
