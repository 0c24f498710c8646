"""URL patterns of the pages of an experiment, and redirect targets.

A pattern that begins with `/` is a path on any host, except with `contains`, `ends_with` and `regex`,
which compare the whole URL. The target of a redirect is the value of the variant's `replace` change; a
variant without one, such as the control, does not redirect.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from engine.design.experiment import Experiment
from engine.design.variants import Variant
from engine.url_resolution import resolve, with_parameters_of
from engine.validation.patterns import compile_pattern
from engine.validation.values import is_web_address
from engine.vocabulary import UrlMatchType

Matcher = Callable[[str], bool]
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def url_matches(match_type: UrlMatchType, pattern: str, url: str) -> bool:
    """Return whether a URL matches a pattern."""
    return url_matcher(match_type, pattern)(url)


@lru_cache(maxsize=1024)
def url_matcher(match_type: UrlMatchType, pattern: str) -> Matcher:
    """Compile a pattern into a matcher of URLs."""
    return _MATCHERS[match_type](pattern)


def matching_urls(match_type: UrlMatchType, pattern: str, urls: Iterable[str]) -> list[bool]:
    """Return whether each URL matches, in order."""
    return list(map(url_matcher(match_type, pattern), urls))


def covers_page(experiment: Experiment, url: str) -> bool:
    """Return whether a URL matches the experiment's pattern or an include rule, and no exclude rule."""
    rules = [(rule.type, url_matches(rule.match_type, rule.value, url)) for rule in experiment.url_rules]
    if ("exclude", True) in rules:
        return False
    return ("include", True) in rules or url_matches(experiment.url_match_type, experiment.url, url)


def _exact(pattern: str) -> Matcher:
    """Compare without fragment, trailing slash, and query parameters that the pattern does not name."""
    part = _part_for(pattern)
    page, wanted = _page_and_query(pattern)
    # Nine tenths of the time is normalizing URLs, most of which are of other pages.
    ending = _last_segment(page)

    def matches(url: str) -> bool:
        if ending not in url and "%" not in url:
            return False
        seen, query = _page_and_query(part(url))
        if seen != page:
            return False
        return not wanted or Counter(_parameters(wanted)) <= Counter(_parameters(query))

    return matches


def _page_and_query(url: str) -> tuple[str, str]:
    page, _, query = url.partition("#")[0].partition("?")
    if "://" in page:
        page = _with_plain_origin(page)
    # A browser reports /caf%C3%A9 for /café.
    return (unquote(page) if "%" in page else page).rstrip("/"), query


def _last_segment(page: str) -> str:
    """Return the last segment of a page's path; the empty string without a path."""
    # Scheme and host are compared in lower case, the path as it is.
    origin = _ORIGIN.match(page)
    path = page[origin.end() :] if origin else page
    return path.rpartition("/")[2] if path.startswith("/") else ""


# One page is compared with the patterns of many experiments.
@lru_cache(maxsize=64)
def _with_plain_origin(url: str) -> str:
    """Write scheme and host in lower case, without the scheme's default port."""
    if not (origin := _ORIGIN.match(url)):
        return url
    scheme, host = origin[1].lower(), origin[2].lower()
    return f"{scheme}://{host.removesuffix(_DEFAULT_PORTS.get(scheme, ' '))}{url[origin.end() :]}"


def _parameters(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)


def _starts_with(pattern: str) -> Matcher:
    part = _part_for(pattern)
    if pattern.startswith("/"):
        return lambda url: part(url).startswith(pattern)
    origin = _with_plain_origin(pattern)
    return lambda url: _with_plain_origin(url).startswith(origin)


def _wildcard(pattern: str) -> Matcher:
    """Compare the whole text; `*` stands for any characters or none."""
    part = _part_for(pattern)
    first, *between = pattern.split("*")
    if not between:
        return lambda url: part(url) == first
    last = between.pop()

    def matches(url: str) -> bool:
        seen = part(url)
        if len(seen) < len(first) + len(last) or not seen.startswith(first) or not seen.endswith(last):
            return False
        position, end = len(first), len(seen) - len(last)
        # The earliest place of each literal leaves most room for those that follow.
        for literal in between:
            found = seen.find(literal, position, end)
            if found < 0:
                return False
            position = found + len(literal)
        return True

    return matches


def _part_for(pattern: str) -> Callable[[str], str]:
    """Return a function from a URL to the part that a pattern is compared with."""
    return _after_host if pattern.startswith("/") else _whole


def _whole(url: str) -> str:
    return url


def _after_host(url: str) -> str:
    origin = _ORIGIN.match(url)
    rest = url[origin.end() :] if origin else url
    return rest if rest.startswith("/") else f"/{rest}"


_MATCHERS: dict[UrlMatchType, Callable[[str], Matcher]] = {
    "exact": _exact,
    "starts_with": _starts_with,
    "ends_with": lambda pattern: lambda url: url.endswith(pattern),
    "contains": lambda pattern: lambda url: pattern in url,
    "wildcard": _wildcard,
    "regex": compile_pattern,
}


def redirect_url(experiment: Experiment, variant: Variant, page_url: str) -> str | None:
    """Return the absolute URL to redirect to from `page_url`; None without a redirect or for no address.

    `relay_params` keeps the query parameters of the page, except those that the target sets itself.
    """
    if experiment.type != "redirect":
        return None
    target = next((change.value for change in variant.changes if change.action == "replace"), None)
    if target is None:
        return None
    if not is_web_address(page_url):
        return target if is_web_address(target) else None
    absolute = resolve(page_url, target)
    if absolute is None or not experiment.relay_params:
        return absolute
    return with_parameters_of(page_url, absolute)
