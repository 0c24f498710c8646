"""Where a redirect experiment sends the visitors of a variant.

The target is the value of the variant's `replace` change: it replaces the page. A variant without one,
such as the control, leaves its visitors where they are.
"""

from urllib.parse import SplitResult, parse_qsl, urlencode, urljoin, urlsplit

from engine.design.checks import is_web_address
from engine.design.experiment import Experiment, Variant


def redirect_url(experiment: Experiment, variant: Variant, page_url: str) -> str | None:
    """The absolute address to go to from `page_url`; None where the visitor stays.

    With `relay_params` the query parameters of the page go along, but for those that the target sets itself.
    """
    target = next((change.value for change in variant.changes if change.action == "replace"), None)
    if experiment.type != "redirect" or target is None:
        return None
    if not is_web_address(page_url):
        return target if is_web_address(target) else None
    absolute = urlsplit(urljoin(page_url, target))
    if experiment.relay_params:
        absolute = _with_parameters_of(absolute, urlsplit(page_url))
    return absolute.geturl()


def _with_parameters_of(target: SplitResult, page: SplitResult) -> SplitResult:
    own = parse_qsl(target.query, keep_blank_values=True)
    set_by_target = {name for name, _ in own}
    relayed = parse_qsl(page.query, keep_blank_values=True)
    query = own + [(name, value) for name, value in relayed if name not in set_by_target]
    return target._replace(query=urlencode(query))
