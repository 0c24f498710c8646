"""Traffic source: from UTM medium, click id and referrer."""

from typing import Final
from urllib.parse import urlsplit

_CLICK_IDS: Final = ("gclid=", "fbclid=", "msclkid=", "ttclid=", "gbraid=", "wbraid=")
_SOURCE_OF_MEDIUM: Final = {
    **dict.fromkeys(("cpc", "ppc", "paid", "paidsearch", "paid_social", "display", "banner", "cpm"), "paid"),
    **dict.fromkeys(("email", "e-mail", "newsletter"), "email"),
    **dict.fromkeys(("social", "social-media", "sm"), "social"),
    **dict.fromkeys(("affiliate", "affiliates"), "affiliate"),
    **dict.fromkeys(("organic",), "organic"),
    **dict.fromkeys(("referral",), "referral"),
}
_SEARCH_SITES: Final = frozenset(
    {"google", "bing", "yahoo", "duckduckgo", "baidu", "yandex", "ecosia", "qwant", "naver", "startpage"}
)
_SOCIAL_SITES: Final = frozenset(
    {"facebook", "instagram", "twitter", "linkedin", "pinterest", "reddit", "tiktok", "youtube", "threads"}
)
_SOCIAL_HOSTS: Final = frozenset({"t.co", "x.com", "lnkd.in", "fb.me"})


def traffic_source(url: str | None, utm_medium: str | None, referrer: object) -> str | None:
    """Classify a visit: paid, email, social, affiliate, organic, referral, direct or campaign.

    By the UTM medium, then the click id of an ad, then the referrer. A tagged link of unknown medium is a
    campaign, an empty referrer a direct visit; None where all are absent.
    """
    medium = (utm_medium or "").lower()
    if medium in _SOURCE_OF_MEDIUM:
        return _SOURCE_OF_MEDIUM[medium]
    if url is not None and any(click_id in url for click_id in _CLICK_IDS):
        return "paid"
    if medium or (url is not None and "utm_" in url):
        return "campaign"
    return _referral(url, referrer) if isinstance(referrer, str) else None


def _referral(url: str | None, referrer: str) -> str:
    host = _host(referrer)
    if not host or host == _host(url or ""):
        return "direct"
    if host in _SOCIAL_HOSTS:
        return "social"
    names = set(host.split("."))
    if names & _SEARCH_SITES:
        return "organic"
    return "social" if names & _SOCIAL_SITES else "referral"


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
