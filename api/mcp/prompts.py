"""Prompts: an analyst's steps for explaining a result and for planning a test."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

EXPLAIN_RESULT: Final = """\
Explain the result of experiment {experiment_id} in project {project_id} to {audience}.

1. Call get_experiment for what was tested and why: the hypothesis, the variants, the goals.
2. Call get_results. If an entry of `health` is not ok, begin with it: data that cannot be trusted
   outweigh every number, and the next step is to fix them.
3. Take the verdict from `decision_summary`: its headline, explanation, recommendation, `reason` and next
   step. Say from `plan` how far the test is and what it can find. `score_value` against
   effective_confidence_threshold is the answer of one look: a variant ahead under `keep_running` is not yet
   safe to stop for. Never work out significance yourself, and never call a variant a winner whose status
   is not `winner`.
4. Give the size of the effect with its uncertainty: the improvement, and the interval around it, for the
   primary goal. An interval that contains zero means that the direction is not known.
5. Go through the other goals in `decision_summaries`. Say where one moved against the primary goal: a win
   that costs revenue is a trade, not a win.
6. Look at get_results_timeseries only if the days matter to the story: a launch, a holiday, fewer than
   two full weeks. For segments: call get_results_segments with the primary goal's `goal_id`, and report
   its `summary`. It tests all segments together; never single one out by its own numbers. A segment that
   differs is a reason for a new test and not a finding.

Write at most 200 words: the answer first, then the evidence, then what to do next, then what is not
known. Use percentages and money as the results give them (money is in cents of `revenue_currency`), and no
jargon without a plain word beside it.
"""
PLAN_TEST: Final = """\
Plan an A/B test in project {project_id} of this idea: {idea}

1. Call get_project for the site, and list_experiments for what runs there now. Say whether another running or
   scheduled experiment changes the same page or needs the same visitors.
2. Write one hypothesis: because (what was observed), changing (one thing) for (whom) will move (one
   number) by (how much), since (why people would act differently). Ask when the observation is missing;
   do not invent one.
3. Choose one primary goal, as close to the change as to the business, and at most three others that must
   not get worse. list_goal_types has the kinds of goal.
4. Say how long it takes. Ask for the primary goal's present rate and for visitors a day, or read both
   from get_results_summary of an earlier experiment on the same page. For a rate p and a relative lift d
   to be found with 80% power at 95% confidence, each variant needs about 16 p (1 - p) / (p d)^2 visitors.
   Round up to whole weeks; if that is more than eight, propose a bolder change or a more frequent goal
   instead.
5. Choose variants (the control and as few others as answer the question), the audience
   (list_targeting_fields has the attributes) and the share of traffic.
6. Show the whole plan, with what will be decided if it wins, loses, or shows no difference. Only when it
   is agreed, call create_experiment: it makes a draft that receives no traffic. Do not start it; that is
   a decision of its own.
"""


@dataclass(frozen=True, slots=True)
class Guide:
    """A prompt, its text with placeholders for the arguments, and the tools that the text names."""

    prompt: Prompt
    text: str
    tools: frozenset[str]
    # The values of optional arguments that are absent.
    defaults: Mapping[str, str]


PROJECT: Final = PromptArgument(name="project_id", description="Id of the project.", required=True)
PROMPTS: Final[Mapping[str, Guide]] = {
    "explain_result": Guide(
        Prompt(
            name="explain_result",
            title="Explain a result",
            description="What an experiment found, how sure that is, and what to do about it.",
            arguments=[
                PROJECT,
                PromptArgument(name="experiment_id", description="Id of the experiment.", required=True),
                PromptArgument(name="audience", description="Who it is for; a product manager by default."),
            ],
        ),
        EXPLAIN_RESULT,
        frozenset({"get_experiment", "get_results", "get_results_timeseries", "get_results_segments"}),
        {"audience": "a product manager who has not followed it"},
    ),
    "plan_test": Guide(
        Prompt(
            name="plan_test",
            title="Plan a test",
            description="From an idea to a draft: hypothesis, goals, duration, variants and audience.",
            arguments=[
                PROJECT,
                PromptArgument(
                    name="idea", description="What to change, and what made you think of it.", required=True
                ),
            ],
        ),
        PLAN_TEST,
        frozenset(
            {
                "get_project",
                "list_experiments",
                "list_goal_types",
                "get_results_summary",
                "list_targeting_fields",
                "create_experiment",
            }
        ),
        {},
    ),
}


def fill(name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """Fill the arguments into a prompt; MCPError for an unknown prompt or a missing argument."""
    guide = PROMPTS.get(name)
    if guide is None:
        raise MCPError(INVALID_PARAMS, f"there is no prompt {name!r}; prompts/list names them")
    given = {**guide.defaults, **arguments}
    missing = [argument.name for argument in guide.prompt.arguments or () if argument.name not in given]
    if missing:
        raise MCPError(INVALID_PARAMS, f"the prompt {name} also needs {', '.join(missing)}")
    message = PromptMessage(role="user", content=TextContent(text=guide.text.format(**given)))
    return GetPromptResult(description=guide.prompt.description, messages=[message])
