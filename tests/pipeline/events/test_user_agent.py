import pytest
import ua_parser

from pipeline.events.user_agent import UNKNOWN_DEVICE, compile_patterns, device_of

WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X)"
BLINK = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "device_type", "os", "browser"),
    [
        (
            f"{IPHONE} {WEBKIT} Version/17.5 Mobile/15E148 Safari/604.1",
            "mobile",
            "iOS",
            "Mobile Safari",
        ),
        (
            f"Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) {WEBKIT} Version/16.6 Mobile/15E148 Safari/604.1",
            "tablet",
            "iOS",
            "Mobile Safari",
        ),
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {BLINK} Chrome/126.0.0.0 Safari/537.36",
            "desktop",
            "Windows",
            "Chrome",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 13; SM-X700) {BLINK} Chrome/126.0.0.0 Safari/537.36",
            "tablet",
            "Android",
            "Chrome",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {BLINK} Chrome/126.0.0.0 Mobile Safari/537.36",
            "mobile",
            "Android",
            "Chrome Mobile",
        ),
    ],
)
def test_a_persons_browser_tells_its_device(user_agent: str, device_type: str, os: str, browser: str) -> None:
    device = device_of(user_agent)
    assert (device.device_type, device.os, device.browser) == (device_type, os, browser)
    assert not device.is_bot


@pytest.mark.parametrize(
    "user_agent",
    [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        f"Mozilla/5.0 {BLINK.replace('like Gecko', 'like Gecko; compatible; GPTBot/1.1')}",
        f"Mozilla/5.0 (X11; Linux x86_64) {BLINK} HeadlessChrome/126.0.0.0 Safari/537.36",
        "facebookexternalhit/1.1",
        "curl/8.5.0",
        "python-requests/2.32.3",
    ],
)
def test_programs_are_bots(user_agent: str) -> None:
    assert device_of(user_agent).is_bot


@pytest.mark.parametrize("user_agent", [None, ""])
def test_no_user_agent_tells_nothing(user_agent: str | None) -> None:
    assert device_of(user_agent) == UNKNOWN_DEVICE


def test_a_made_up_one_is_some_desktop() -> None:
    assert device_of("x" * 100_000).device_type == "desktop"


def test_the_first_visitor_does_not_wait_for_the_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    # ua-parser keeps its compiled patterns in this name, which is missing until they are compiled.
    monkeypatch.delattr(ua_parser, "parser", raising=False)
    compile_patterns()
    compiled = vars(ua_parser)["parser"]
    assert device_of("Mozilla/5.0 (X11; Linux) Firefox/140.0 of the first visitor").browser == "Firefox"
    assert vars(ua_parser)["parser"] is compiled
