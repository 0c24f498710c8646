"""Page of a project's settings."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.dashboard.addresses import project_address
from api.dashboard.form_permissions import CHANGE_PROJECTS
from api.dashboard.operations import read
from api.dashboard.page_answers import signed_in
from api.dashboard.project_pages.record_form import FLAG, LINES, NUMBER, TEXT, RecordForm
from api.dashboard.project_pages.record_pages import RecordPage, ShownForm, save_record, show_record
from api.dashboard.sessions import SignedIn
from engine.vocabulary import Platform, words

_RATES: Final = "settings.exchange_rates"
_COUNTED: Final = (
    "running and paused experiments are counted anew, from their first event on, with the next refresh. "
    "Completed ones stay as they were decided."
)


def read_rates(value: str) -> dict[str, object]:
    """Read exchange rates, a currency and its rate a line; what is no rate stays for the API to refuse."""
    rates: dict[str, object] = {}
    for line in LINES(value):
        currency, _, rate = line.replace("=", " ").replace(":", " ").partition(" ")
        rates[currency.upper()] = NUMBER(rate.strip())
    return rates


FORM: Final = RecordForm(
    {
        **dict.fromkeys(("name", "url", "platform", "reporting_timezone"), TEXT),
        **dict.fromkeys(("settings.revenue_currency", "settings.cookie_domain", "settings.review"), TEXT),
        _RATES: read_rates,
        **dict.fromkeys(("settings.domains", "settings.excluded_ips"), LINES),
        **dict.fromkeys(("settings.attribution_window_days", "settings.anti_flicker_timeout_ms"), NUMBER),
        **dict.fromkeys(("settings.retention_days", "settings.keep_nights"), NUMBER),
        **dict.fromkeys(("settings.respect_dnt", "settings.respect_gpc"), FLAG),
        **dict.fromkeys(("settings.bot_filtering", "settings.trusted_revenue"), FLAG),
        **dict.fromkeys(("settings.allowed_hosts_only", "settings.share_links"), FLAG),
        "integrations.ga4.enabled": FLAG,
        "integrations.ga4.measurement_id": TEXT,
        "integrations.gtm.enabled": FLAG,
        **dict.fromkeys(("environments[].key", "environments[].name"), TEXT),
        "environments[].hostnames": LINES,
    },
    required=frozenset({"name", "url", "environments[].key", "environments[].name"}),
    wholes=frozenset({"integrations.ga4", "integrations.gtm", "environments"}),
)
EFFECTS: Final[Mapping[str, str]] = {
    "reporting_timezone": "Time zone: days begin at another hour. The days of every experiment move, and "
    "open ones are counted anew, from their first event on.",
    "settings.revenue_currency": "Currency: amounts are converted into it. Give the exchange rates for it, "
    f"too; {_COUNTED}",
    _RATES: "Exchange rates: an experiment keeps the rates that it was counted by. With a rate for a further "
    f"currency, {_COUNTED}",
    "settings.attribution_window_days": f"Attribution window: {_COUNTED}",
    "settings.bot_filtering": f"Bots: {_COUNTED}",
    "settings.trusted_revenue": f"Trusted revenue: {_COUNTED}",
    "settings.retention_days": "Retention: the next night removes events that are older for good, but for "
    "those of visitors in experiments that have not ended. Results stay.",
    "settings.keep_nights": "Past nights: the next night removes the results of nights beyond, for good.",
    "settings.share_links": "Share links: where they are forbidden, those that work end at once, for good.",
    "settings.review": "Reviews: once they are required, no test starts and no variant is shipped without a "
    "second member's yes, scheduled starts among them. Owners and admins change this.",
    "settings.allowed_hosts_only": "Hosts: once it is on, browsers on pages of other hosts are refused.",
}


def shown_project(project: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a project with its rates as lines, and with what is true unless it is set."""
    settings = project["settings"]
    rates = (settings.get("exchange_rates") or {}).items()
    lines = "\n".join(f"{currency} {rate:.10g}" for currency, rate in rates)
    on = {name: settings.get(name) is not False for name in ("bot_filtering", "share_links")}
    return {**project, "settings": {**settings, **on, "exchange_rates": lines}}


async def _context(request: Request, session: SignedIn, shown: ShownForm) -> Mapping[str, object]:
    return {
        "project": shown.record,
        "address": project_address(request),
        "platforms": words(Platform),
        "sdk_keys": (await read(request, session, f"{project_address(request)}/sdk_keys"))["data"],
        # One more is for a new one.
        "environment_rows": FORM.rows(shown.values, "environments") + 1,
    }


_PAGE: Final = RecordPage(
    template="project_settings.html",
    form=FORM,
    permission=CHANGE_PROJECTS,
    address=project_address,
    context=_context,
    shown=shown_project,
    effects=EFFECTS,
)


@signed_in
async def show_settings(request: Request, session: SignedIn) -> Response:
    """Show the settings of a project."""
    return await show_record(request, session, _PAGE)


@signed_in
async def save_settings(request: Request, session: SignedIn) -> Response:
    """Save the settings of a project."""
    return await save_record(request, session, _PAGE)
