"""The dashboard in Chromium: from sign-in to a verdict, and usable with the keyboard and a screen reader."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from api.app import create_app
from pipeline.clock import utc_now
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.dashboard.conftest import a_running_experiment
from tests.api.dashboard.listed_shop import fill
from tests.api.dashboard.test_experiments import send_visitors
from tests.api.sdk.browser.conftest import chromium_path
from tests.api.serving import served

HARMFUL = {"serious", "critical"}
# Who is let in by less than this is not counted.
ALL_AT_ONCE = {"steps": [{"percent": 100, "hours": 24}]}
RAMP = {"steps": [{"percent": 5, "hours": 24}, {"percent": 100, "hours": None}], "on_harm": "pause"}
# Elements of a page beyond the right edge, and texts and cells that do not fit into theirs.
CUT = """() => [...document.querySelectorAll("main *:not(.hide, .menu > :not(summary) *, svg *)")]
  .filter((one) => one.checkVisibility() && (one.getBoundingClientRect().right > innerWidth + 1
    || ((one.children.length === 0 || one.matches("td, th"))
      && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)))
  .map((one) => one.outerHTML.slice(0, 120))"""


@dataclass(frozen=True, slots=True)
class Site:
    """A service on a real port with a draft, a browser, and the errors of its scripts and of the policy."""

    customer: Customer
    chromium: Browser
    project: str
    draft: str
    errors: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.customer.client.base_url).rstrip("/")

    def page(self, *, scheme: str = "light", width: int = 1280) -> Page:
        """A page of a new browser that is signed in."""
        options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
        page = self.chromium.new_context(**options).new_page()  # type: ignore[arg-type]  # by name
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )
        page.goto(f"{self.address}/sign-in")
        page.fill("#key", self.customer.token)
        page.press("#key", "Enter")
        page.wait_for_url(f"{self.address}/")
        return page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60)
    app = create_app(settings)
    with served(app, settings) as client, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        customer = a_customer(client, app.state.services)
        project = customer.a_project()
        yield Site(customer, chromium, project, customer.an_experiment(project, name="One page"))
        chromium.close()


def test_results_are_shared_with_a_browser_that_has_no_key_and_runs_no_script(site: Site) -> None:
    experiment = a_running_experiment(site.customer, site.project)
    send_visitors(site.customer, experiment, {0: (200, 9), 1: (210, 30)})
    page = site.page()
    page.goto(f"{site.address}{experiment}")
    page.click("a:text-is('Share')")
    page.fill("#days", "7")
    page.click("button:text('Create a link')")
    assert page.is_visible("button:text('Copy')")
    path = urlsplit(page.inner_text("#address")).path
    stranger = site.chromium.new_context(java_script_enabled=False).new_page()
    failed: list[str] = []
    stranger.on("requestfailed", lambda request: failed.append(request.url))
    answer = stranger.goto(f"{site.address}{path}")
    assert answer is not None
    assert answer.status == 200
    assert stranger.is_visible("#verdict")
    stranger.click("summary:text('Purchase')")
    assert stranger.is_visible("table.counts")
    assert stranger.locator("form, script, .rail a").count() == 0
    reader = site.page()
    for where in (f"{experiment}/share", path):
        reader.goto(f"{site.address}{where}")
        violations = Axe().run(reader).response["violations"]
        assert [one["id"] for one in violations if one["impact"] in HARMFUL] == []
        assert reader.evaluate(CUT) == []
    page.goto(f"{site.address}{experiment}/share")
    page.click("button:text('Revoke')")
    page.wait_for_selector("td:text('ended')")
    gone = stranger.reload()
    assert gone is not None
    assert (gone.status, failed) == (404, [])
    assert site.errors == []


def test_a_draft_is_started_fed_and_judged(site: Site) -> None:
    page = site.page()
    page.click("text=Projects")
    page.click("main >> text=Shop")
    # Other tests of this site have filled the first page of the list, with others of this name, too.
    page.fill("[name=search]", "One page")
    page.press("[name=search]", "Enter")
    page.click(f"a[href='{site.draft}']")
    page.click("a:text('Start')")
    page.click("button:text('Start')")
    page.wait_for_selector(".life.running")
    assert site.customer.data_of(site.draft)["status"] == "running"
    send_visitors(site.customer, site.draft, {0: (400, 20), 1: (200, 20)})
    page.reload()
    # Twice as many visitors in one of two equal variants.
    assert page.inner_text(".verdict .tag") == "Fix data"
    page.click("summary:text('Purchase')")
    assert page.inner_text(".counts tbody tr:nth-child(1) td") == "400"
    # The numbers of a day, by the keyboard alone.
    page.focus("svg.plot")
    page.keyboard.press("ArrowLeft")
    assert "Control 5%" in page.inner_text(".told")
    assert site.errors == []
    page.click("button:text('Sign out')")
    page.goto(f"{site.address}{site.draft}")
    assert "/sign-in" in page.url


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), pytest.param("dark", 390, marks=pytest.mark.long(seconds=9))]
)
def test_pages_are_accessible(site: Site, scheme: str, width: int) -> None:
    fill(site.customer, site.project)
    started = site.customer.an_experiment(site.project, name=f"Seen in {scheme}", ramp=ALL_AT_ONCE)
    site.customer.post(f"{started}/start")
    send_visitors(site.customer, started, {0: (300, 20), 1: (300, 25)})
    page = site.page(scheme=scheme, width=width)
    found = {}
    draft = f"{site.project}/experiments/new"
    pages = (
        "/",
        "/projects",
        "/projects/new",
        "/account",
        "/account/audit",
        site.project,
        f"{site.project}/installation",
        draft,
    )
    ready = site.customer.an_experiment(site.project, name=f"Ready in {scheme}", ramp=RAMP)
    several = "&".join(f"experiment={one.rpartition('/')[2]}" for one in (started, ready))
    compared = f"{site.project}/compare?{several}"
    programme = f"{site.project}/programme"
    later = (f"{started}/pause", f"{started}/ship", programme, compared, f"{ready}/start")
    # At every width and in print nothing is beyond the right edge, and no text is cut. This comes first, as a
    # later count changes what the lists were filled with.
    drawn = {"/": ".waiting", site.project: ".list svg.bar", started: ".goals td.axis"}
    if scheme == "dark":
        drawn |= {compared: ".compare svg.bar", f"{ready}/edit": ".step", programme: ".decided-tests"}
    for path, shown in drawn.items():
        page.emulate_media(media="screen")
        page.goto(f"{site.address}{path}")
        if path == started:
            page.click(".goals .open summary >> nth=0")
        for media, wide in (
            *(("screen", wide) for wide in (390, 768, 1080, 1280, 1920)),
            ("print", 718),
        ):
            page.emulate_media(media=media)  # type: ignore[arg-type]  # by name
            page.set_viewport_size({"width": wide, "height": 900})
            assert page.evaluate(CUT) == [], (path, media, wide)
            assert page.is_visible(f"{shown} >> nth=0")
        page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media="screen")
    for path in (*pages, started, *later, f"{ready}/edit"):
        page.goto(f"{site.address}{path}")
        violations = Axe().run(page).response["violations"]
        found[path] = [one["id"] for one in violations if one["impact"] in HARMFUL]
        # A page may scroll down, and only its tables and charts to the side.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert {path: ids for path, ids in found.items() if ids} == {}


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), pytest.param("dark", 390, marks=pytest.mark.long(seconds=7))]
)
def test_pages_of_a_project_are_accessible(site: Site, scheme: str, width: int) -> None:
    metric = site.customer.a_metric(site.project, name=f"Seen in {scheme}")
    webhook = site.customer.a_webhook(site.project)
    assert site.customer.post(f"{webhook}/test").status_code == 202
    channel = site.customer.a_channel(site.project)
    assert site.customer.post(f"{channel}/test").status_code == 202
    steps = ["settings", "metrics", "runs?kind=all", "webhooks", "notification_channels", "erasure"]
    records = [metric, webhook, channel]
    if scheme == "dark":
        holdout = site.customer.a_holdout(site.project)
        # Other tests share the project, and nobody of theirs is to be held out.
        assert site.customer.patch(holdout, {"to": utc_now().isoformat()}).is_success
        steps += ["holdouts", "holdouts/new"]
        records += [holdout, f"{holdout}/edit"]
    page = site.page(scheme=scheme, width=width)
    for path in (*(f"{site.project}/{step}" for step in steps), *records):
        page.goto(f"{site.address}{path}")
        violations = Axe().run(page).response["violations"]
        assert [one["id"] for one in violations if one["impact"] in HARMFUL] == [], path
        # Those between and beyond, once.
        for wide in (768, width) if scheme == "light" else (768, 1280, 1920, width):
            page.set_viewport_size({"width": wide, "height": 900})
            assert page.evaluate(CUT) == [], (path, wide)
    assert site.errors == []


def test_an_experiment_is_created_in_the_form_started_fed_and_judged(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}{site.project}")
    page.click("text=New experiment")
    page.fill("[id='name']", "Made in a form")
    page.click("text=Add a variant")
    # Without a new page, and what was typed stays.
    page.fill("[id='variants[2].name']", "Variant C")
    assert page.input_value("[id='name']") == "Made in a form"
    # A page view has an address instead of an event.
    page.select_option("[id='goals[0].goal_type']", "pageview")
    assert not page.is_visible("[id='goals[0].config.event_name']")
    page.fill("[id='goals[0].name']", "Thanks")
    page.click("button:text('Save') >> nth=0")
    page.wait_for_selector("[id='problem-goals[0].config.url']")
    page.fill("[id='goals[0].config.url']", "https://shop.example/thanks")
    # The plan follows what is typed.
    page.fill("[id='plan.baseline_rate']", "5")
    page.fill("[id='plan.daily_visitors']", "3000")
    page.wait_for_selector(".plan .big:text('days')")
    assert not page.is_visible("text=Compute")
    violations = Axe().run(page).response["violations"]
    assert [one["id"] for one in violations if one["impact"] in HARMFUL] == []
    page.click("button:text('Save') >> nth=0")
    page.click("a:text('Start')")
    page.click("button:text('Start')")
    page.wait_for_selector(".life.running")
    created = site.customer.data_of(page.url.removeprefix(site.address))
    assert [one["name"] for one in created["variants"]] == ["Control", "Variant B", "Variant C"]
    assert created["goals"][0]["config"] == {"url": "https://shop.example/thanks"}
    send_visitors(site.customer, page.url.removeprefix(site.address), {0: (200, 0), 1: (200, 0), 2: (90, 0)})
    page.reload()
    assert page.inner_text(".verdict .tag") == "Fix data"
    page.click("summary:text('Thanks')")
    assert page.inner_text(".counts tbody tr:nth-child(3) td") == "90"
    # Of the form with a problem; the other buttons changed it without a new page.
    (refused,) = site.errors
    site.errors.clear()
    assert "422" in refused


@pytest.mark.long(seconds=8)
def test_the_keyboard_alone_creates_starts_and_decides(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}{site.project}")
    # From the top: past the links of the frame.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    reach(page, "New experiment")
    page.keyboard.press("Enter")
    page.wait_for_url("**/experiments/new")
    for label, typed in (
        ("Name of the experiment", "By keys"),
        ("Goal 1", "Buys"),
        ("Event", "purchase"),
        ("Visitors who do it now (%)", "5"),
        ("Visitors a day", "3000"),
    ):
        reach(page, label)
        page.keyboard.type(typed)
    page.wait_for_selector(".plan .big:text('days')")
    # The plan changes beside the field, which keeps the focus.
    assert page.evaluate("document.activeElement.id") == "plan.daily_visitors"
    reach(page, "Check and start…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/start")
    reach(page, "Start without a change")
    page.keyboard.press("Enter")
    page.wait_for_selector(".life.running")
    path = page.url.removeprefix(site.address)
    send_visitors(site.customer, path, {0: (40, 4), 1: (40, 4)})
    page.reload()
    reach(page, "Decide…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ship")
    while page.evaluate("document.activeElement.name") != "choice":
        page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.value") != "inconclusive":
        page.keyboard.press("ArrowDown")
    reach(page, "Why? Kept with the result, for whoever asks in a year")
    page.keyboard.type("Too small to matter.")
    reach(page, "End undecided")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{path}")
    assert site.customer.data_of(path)["conclusion"]["decision"] == "inconclusive"
    assert site.errors == []


def reach(page: Page, name: str) -> None:
    """Press Tab until a button, link or field of that name has the focus, which is seen."""
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => { const one = document.activeElement;
            return { name: (one.labels?.[0] ?? one).innerText.trim(),
              isSeen: one.matches(":focus-visible") && getComputedStyle(one).outlineStyle !== "none" } }"""
        )
        if found["name"] == name:
            assert found["isSeen"], name
            return
    raise AssertionError(f"{name} is not reached")


@pytest.mark.long(seconds=4)
def test_the_first_event_is_shown_as_it_arrives(site: Site) -> None:
    project = site.customer.a_project(name="Quiet")
    running = site.customer.an_experiment(project)
    assert site.customer.post(f"{running}/start").status_code == 200
    page = site.page()
    page.goto(f"{site.address}{project}/installation")
    assert page.is_visible("text=Waiting for the first event")
    send_visitors(site.customer, running, {0: (1, 0)})
    page.wait_for_selector("text=First event received")
    assert not page.is_visible("text=Waiting for the first event")


def test_the_reference_is_drawn(site: Site) -> None:
    page = site.page()
    page.goto(f"{site.address}/docs")
    page.wait_for_selector(".opblock-tag")
    page.click(".opblock-tag:has-text('Experiments') button")
    page.click("#operations-Experiments-create_experiment .opblock-summary-control")
    page.wait_for_selector("#operations-Experiments-create_experiment .example")
    # The examples of the body, and of what is answered.
    shown = page.inner_text("#operations-Experiments-create_experiment")
    assert "One-page checkout" in shown
    assert "exp_k3vq7xm2c5tzhn6d4wrp" in shown
    violations = Axe().run(page).response["violations"]
    assert [one["id"] for one in violations if one["impact"] in HARMFUL] == []
