"""User-Agent parsing: device type, operating system, browser, bot."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engine.vocabulary import DeviceType

# Bots that ua-parser does not list as spiders: automation, previews, monitors, HTTP libraries.
_BOT: Final = re.compile(
    r"bot\b|crawl|spider|slurp|headless|phantomjs|selenium|webdriver|puppeteer|playwright|lighthouse"
    r"|pagespeed|pingdom|uptime|monitor|preview|scrap|curl|wget|httpclient|http-client|okhttp|axios"
    r"|node-fetch|python|java/|go-http|libwww|ruby|perl|php",
    re.IGNORECASE,
)
_TABLET: Final = re.compile(
    r"ipad|tablet|kindle|silk/|playbook|\bandroid\b(?!.*\bmobile\b)", re.IGNORECASE | re.DOTALL
)
_MOBILE: Final = re.compile(r"mobi|iphone|ipod|windows phone|opera mini", re.IGNORECASE)
# Real ones are shorter; the cut bounds the time that the patterns take.
MAX_LENGTH: Final = 512


@dataclass(frozen=True, slots=True)
class Device:
    """The visitor's device; None where the User-Agent does not give it."""

    device_type: DeviceType | None = None
    os: str | None = None
    browser: str | None = None
    is_bot: bool = False


UNKNOWN_DEVICE: Final = Device()


def compile_patterns() -> None:
    """Import ua-parser and compile its patterns: a quarter of a second at the first User-Agent."""
    from ua_parser import parse  # noqa: PLC0415 - slow

    parse("")


def device_of(user_agent: str | None) -> Device:
    """Parse a User-Agent; an absent one is unknown, not a bot."""
    return _parsed(user_agent[:MAX_LENGTH]) if user_agent else UNKNOWN_DEVICE


@lru_cache(maxsize=10_000)
def _parsed(user_agent: str) -> Device:
    from ua_parser import parse  # noqa: PLC0415 - see `compile_patterns`

    parsed = parse(user_agent)
    spider = parsed.device is not None and parsed.device.family == "Spider"
    if spider or _BOT.search(user_agent):
        return Device(is_bot=True, browser=parsed.user_agent.family if parsed.user_agent else None)
    return Device(
        device_type=_device_type(user_agent),
        os=parsed.os.family if parsed.os else None,
        browser=parsed.user_agent.family if parsed.user_agent else None,
    )


def _device_type(user_agent: str) -> DeviceType:
    if _TABLET.search(user_agent):
        return "tablet"
    return "mobile" if _MOBILE.search(user_agent) else "desktop"
