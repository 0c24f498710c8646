"""Services of the API: those of the pipeline, and what only requests need."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from anyio import CapacityLimiter
from cryptography.fernet import Fernet
from fastapi import Request

from api.bodies.kept_forms import KeptForms
from api.bodies.slices import Turns
from api.chart_pictures import ChartPictures
from api.middleware.address_limit import AddressLimit
from api.middleware.key_refusals import KeyRefusals
from api.middleware.rate_limits import RateLimits
from api.results.answers import ResultsAnswers
from api.results.kept_answers import KeptAnswers
from api.results.threads import ResultsThreads
from api.sdk.admission import Admission
from api.sdk.debug_tokens import PURPOSE, DebugTokens
from api.sdk.encoded_bodies import EncodedBodies
from api.sdk.quotas import BrowserQuotas
from api.sdk.snippet_verification import SnippetVerification
from api.timed_checks import TimedChecks
from pipeline.assignment.exposure_filter import ExposureFilter
from pipeline.assignment.first_assignments import FirstAssignments
from pipeline.assignment.project_cache import ProjectCache
from pipeline.assignment.visits import StoredVisits
from pipeline.encryption_key import derive_secret, open_cipher
from pipeline.events.address_keys import AddressKey, address_keys
from pipeline.events.request_headers.location import Locations
from pipeline.jobs.scheduler import Scheduler
from pipeline.results.exports import Exports
from pipeline.services import PipelineServices, open_pipeline
from pipeline.settings import Settings
from pipeline.store.ownership.store_lock import StoreLock

# The start waits so long for files of first assignments to be read.
OPENING_SECONDS: Final = 1.0
# More pages at once would take Python's turns from the other requests.
PAGE_THREADS: Final = 2
# Pages of share links that one network address may ask for.
SHARED_PAGES_A_MINUTE: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(PipelineServices):
    """Everything a request may need."""

    exports: Exports
    scheduler: Scheduler
    project_cache: ProjectCache
    first_assignments: FirstAssignments
    exposure_filter: ExposureFilter
    results_threads: ResultsThreads
    results_answers: ResultsAnswers
    checks: TimedChecks
    stored_visits: StoredVisits
    limits: RateLimits
    quotas: BrowserQuotas
    address_key: AddressKey
    key_refusals: KeyRefusals
    shared_views: AddressLimit
    cipher: Fernet
    turns: Turns
    page_threads: CapacityLimiter
    kept_forms: KeptForms
    encoded_bodies: EncodedBodies
    chart_pictures: ChartPictures
    snippet_verification: SnippetVerification
    locations: Locations
    debug_tokens: DebugTokens

    def admission(self, request: Request) -> Admission:
        """Begin the admission of a request to the SDK endpoints."""
        return Admission(
            request=request,
            requests_per_minute=self.settings.sdk_rate_limit_per_minute,
            limits=self.limits,
            quotas=self.quotas,
            exposure_filter=self.exposure_filter,
            ingest=self.ingest,
        )


@contextmanager
def open_services(
    settings: Settings, *, lock: StoreLock | None = None, accept_loss: bool = False
) -> Iterator[Services]:
    """Open the pipeline and start its jobs; stop and close everything in reverse order at the end."""
    with open_pipeline(settings, lock=lock, accept_loss=accept_loss) as pipeline, ExitStack() as stack:
        # First, since a wrong file ends the start.
        locations = Locations(settings.geoip_file)
        stack.callback(locations.close)
        # This process alone owns the store: a claim without a reply is of a process that has ended.
        pipeline.catalog.idempotency_keys.release_all()
        scheduler = Scheduler(pipeline)
        scheduler.start()
        pipeline.runner.wake_all()
        stack.callback(scheduler.stop)
        results_threads = ResultsThreads(settings)
        stack.callback(results_threads.close)
        kept_answers = KeptAnswers(settings.kept_results_bytes)
        pipeline.rollup.publications.listen(kept_answers.forget)
        # Closed first, so that the scheduler waits neither for a snapshot that is being written nor for runs.
        stack.callback(pipeline.snapshots.close)
        stack.callback(pipeline.runner.stop)
        first_assignments = FirstAssignments(pipeline.warehouse, pipeline.ingest, settings)
        stack.callback(first_assignments.close)
        first_assignments.open_saved(OPENING_SECONDS)
        address_key = address_keys(derive_secret(settings, b"address_key"))
        yield Services(
            settings=settings,
            lock=pipeline.lock,
            catalog=pipeline.catalog,
            warehouse=pipeline.warehouse,
            ingest=pipeline.ingest,
            rollup=pipeline.rollup,
            results=pipeline.results,
            due_looks=pipeline.due_looks,
            ramp_findings=pipeline.ramp_findings,
            nights=pipeline.nights,
            interactions=pipeline.interactions,
            snapshots=pipeline.snapshots,
            runner=pipeline.runner,
            erasing=pipeline.erasing,
            lanes=pipeline.lanes,
            clock=pipeline.clock,
            exports=Exports(pipeline.warehouse, pipeline.results, settings),
            scheduler=scheduler,
            project_cache=ProjectCache(pipeline.catalog),
            first_assignments=first_assignments,
            exposure_filter=ExposureFilter(pipeline.catalog, first_assignments),
            results_threads=results_threads,
            results_answers=ResultsAnswers(pipeline.results, results_threads, kept_answers),
            checks=TimedChecks(),
            stored_visits=StoredVisits(),
            limits=RateLimits(settings),
            quotas=BrowserQuotas(settings),
            address_key=address_key,
            key_refusals=KeyRefusals(pipeline.catalog.refused_keys, address_key),
            shared_views=AddressLimit(SHARED_PAGES_A_MINUTE, address_key),
            cipher=open_cipher(settings),
            turns=Turns(),
            page_threads=CapacityLimiter(PAGE_THREADS),
            kept_forms=KeptForms(),
            encoded_bodies=EncodedBodies(),
            chart_pictures=ChartPictures(pipeline.rollup.publications),
            snippet_verification=SnippetVerification(pipeline.catalog),
            locations=locations,
            debug_tokens=DebugTokens.of(derive_secret(settings, PURPOSE), pipeline.catalog),
        )
