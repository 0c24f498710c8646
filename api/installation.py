"""Installation snippets: code that connects a site to its project."""

import base64
import hashlib
import json
from html import escape
from string import Template
from typing import Final
from urllib.parse import urlsplit

from api.schemas.projects import ProjectInstallation
from api.sdk.script_files import STUB, read_script
from engine.analysis.results.formatting import money
from engine.currencies import UNUSUAL_MINOR_UNITS
from engine.design.project import Project

# Names that the snippet uses: its function for commands, and the cookie with the visitor's id.
COMMAND: Final = "truelift"
VISITOR_COOKIE: Final = "truelift_visitor"

# The page waits for the script before it is shown, at most as long as the stub lets it.
_BLOCKING: Final = Template(
    '<script id="truelift" async blocking="render" fetchpriority="high" data-timeout="$timeout" '
    'src="$source"></script>\n<script>$stub</script>'
)
_ASYNC: Final = Template('<script id="truelift" async data-timeout="0" src="$source"></script>')
_EXAMPLE_CENTS: Final = 4999
# Commands before the snippet has loaded are queued in `q`. The name may be that of the script's element.
_TRACKING: Final = Template("""\
<script>
  if (typeof window.$command !== "function") {
    window.$command = function () { ($command.q = $command.q || []).push(arguments); };
  }
  $command("convert", {
    event_name: "purchase",
    revenue_cents: $cents, // of this order, in minor units of the currency: $amount
    currency: $currency,
    transaction_id: "1001" // of this order: one that is sent again counts once
  });
</script>""")
# text/plain needs no preflight, and a keepalive request survives the end of the page.
_PIXEL: Final = Template("""\
analytics.subscribe("checkout_completed", async (event) => {
  const visitorId = await browser.cookie.get($cookie);
  const checkout = event.data.checkout;
  if (!visitorId || !checkout.totalPrice) return;
  const minorUnits = $units[checkout.currencyCode] || 100;
  await fetch($address, {
    method: "POST",
    keepalive: true,
    headers: { "Content-Type": "text/plain" },
    body: JSON.stringify({
      event_id: event.id,
      visitor_id: visitorId,
      event_name: "purchase",
      revenue_cents: Math.round(checkout.totalPrice.amount * minorUnits),
      currency: checkout.currencyCode,
      transaction_id: (checkout.order && checkout.order.id) || checkout.token
    })
  });
});
""")


def describe_installation(project: Project, base_url: str) -> ProjectInstallation:
    """Describe how the site of a project is connected to the service at `base_url`."""
    return ProjectInstallation(
        platform=project.platform,
        installation_guide=project.installation_guide,
        snippet_verified=project.snippet_verified,
        snippet_html=snippet_html(project, base_url),
        async_snippet_html=async_snippet_html(project, base_url),
        script_sha256=stub_hash(),
        content_security_policy=content_security_policy(base_url),
        api_key=project.sdk_key,
        tracking_snippet=tracking_snippet(project),
        storefront_pixel_code=storefront_pixel_code(project, base_url),
    )


def snippet_html(project: Project, base_url: str) -> str:
    """Render the tags that load the snippet, for the start of the head of every page.

    A project whose pages wait for nothing has one tag.
    """
    timeout = project.anti_flicker_timeout_ms
    if timeout == 0:
        return async_snippet_html(project, base_url)
    stub = read_script(STUB).decode()
    return _BLOCKING.substitute(source=_source(project, base_url), timeout=timeout, stub=stub)


def async_snippet_html(project: Project, base_url: str) -> str:
    """Render the one tag of pages without inline scripts, on which the original may be seen first."""
    return _ASYNC.substitute(source=_source(project, base_url))


def stub_hash() -> str:
    """Return the hash of the inline script, the same for all projects, as `script-src` names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(read_script(STUB)).digest()).decode()}"


def content_security_policy(base_url: str) -> str:
    """Render what a page's Content-Security-Policy has to allow for the snippet."""
    address = urlsplit(base_url)
    origin = f"{address.scheme}://{address.netloc}"
    return f"script-src {origin} '{stub_hash()}'; connect-src {origin}"


def _source(project: Project, base_url: str) -> str:
    return escape(f"{base_url.rstrip('/')}/sdk/v1/{project.sdk_key}.js")


def tracking_snippet(project: Project) -> str:
    """Render an example of reporting an order, in the project's currency."""
    currency = project.revenue_currency
    return _TRACKING.substitute(
        command=COMMAND,
        cents=_EXAMPLE_CENTS,
        currency=json.dumps(currency),
        amount=money(_EXAMPLE_CENTS, currency),
    )


def storefront_pixel_code(project: Project, base_url: str) -> str | None:
    """Render the pixel of a checkout that runs no snippet; None for a platform without one."""
    if project.platform != "shopify":
        return None
    # The snippet sets the cookie of visitors who have agreed, and no other.
    address = f"{base_url.rstrip('/')}/api/v1/sdk/convert?key={project.sdk_key}&consent=granted"
    return _PIXEL.substitute(
        cookie=json.dumps(VISITOR_COOKIE),
        address=json.dumps(address),
        units=json.dumps(dict(UNUSUAL_MINOR_UNITS), separators=(",", ":")),
    )
