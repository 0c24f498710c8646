"""Warehouses of simulated events for the rollup, with or without user ids, and their experiments."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.design.variants import Variant
from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor, Warehouse

PROJECT_ID = "prj_bench"
EVENTS_A_VISITOR = 5
STARTED = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 14
_START_US = int(STARTED.timestamp()) * 1_000_000
_DAY_US = 86_400_000_000

# Of a visitor's five events the first is an exposure; one in two hundred events is sent twice, one order in
# fifty is reported under the transaction of another, one visitor in a hundred is a bot. With user ids, six of
# twenty visitors are those of five users, one of whom has two; the first event and conversions tell the user.
_FILL = """
INSERT INTO "events_{project}" BY NAME
WITH draws AS (
  SELECT i, i // {each} AS v, i % {each} AS k, hash(i, 1) AS h1, hash(i // {each}, 2) AS hv, hash(i, 3) AS h3,
    {identified} AND v % 20 < 6 AS is_user, v - (is_user AND v % 20 = 1)::INT AS person
  FROM range({events}) t(i)
),
typed AS (
  SELECT *,
    CASE
      WHEN k = 0 OR (k = 1 AND hv % 10 < 7) THEN 'exposure'
      WHEN k IN (1, 2, 3) THEN 'pageview'
      WHEN h1 % 10 < 3 THEN 'conversion'
      WHEN h1 % 10 < 6 THEN 'click'
      ELSE 'custom_event'
    END AS type,
    k = 1 AND hv % 10 < 6 AS is_second,
    {start} + (v::HUGEINT * {span} // ({events} // {each}))::BIGINT + (hv % {half_day})::BIGINT + k * 60000000
      + (h3 % 30000000)::BIGINT AS occurred_at,
    'e' || (CASE WHEN h3 % 200 = 0 AND i > 10 THEN i - 5 ELSE i END) AS event_id,
    't' || (i - (h1 // 10 % 50 = 0)::INT * 5) AS transaction_id
  FROM draws
)
SELECT i + 1 AS seq, occurred_at AS received_at, occurred_at, event_id, hash(event_id) AS event_key, type,
  'v' || v AS visitor_id, hash(v, 7) AS visitor_key,
  CASE WHEN is_user AND (k = 0 OR type = 'conversion') THEN 'u' || person END AS user_id,
  CASE WHEN user_id IS NOT NULL THEN hash(user_id) END AS user_key,
  CASE WHEN type = 'exposure' THEN if(is_second, 'exp_b', 'exp_a') END AS experiment_id,
  CASE WHEN type <> 'exposure' THEN NULL
    WHEN is_second THEN 'var_b' || hash(person, 2) // 100 % 3
    ELSE 'var_a' || (hash(person, 2) // 10 + (h3 % 300 = 1)::INT) % 2 END AS variant_id,
  CASE WHEN type IN ('pageview', 'click') THEN 'https://shop.example/' || (
    CASE WHEN h1 % 20 = 0 THEN 'thanks' WHEN h1 % 20 < 5 THEN 'cart' WHEN h1 % 20 < 8 THEN ''
      ELSE 'product/' || h1 // 20 % 5000 END) END AS url,
  CASE WHEN type = 'click' THEN if(h3 % 5 = 0, '#buy', '.nav a') END AS selector,
  CASE type WHEN 'conversion' THEN 'purchase' WHEN 'custom_event' THEN if(h3 % 4 = 0, 'signup', 'scroll') END
    AS event_name,
  CASE WHEN type = 'conversion' THEN (500 + 20000 * pow((h1 // 10 % 1000) / 1000.0, 4))::BIGINT END
    AS revenue_cents,
  CASE WHEN type = 'conversion' THEN 'USD' END AS currency,
  CASE WHEN type = 'conversion' THEN transaction_id END AS transaction_id,
  CASE WHEN type = 'conversion' THEN hash(transaction_id) END AS transaction_key,
  type = 'conversion' AND h3 % 30 = 0 AS is_refund, hv % 100 = 99 AS is_bot,
  ['direct', 'organic', 'paid', 'email', 'social'][1 + (hv // 7 % 5)::INT] AS traffic_source,
  ['desktop', 'mobile', 'tablet'][1 + (hv // 11 % 3)::INT] AS device_type,
  ['new', 'returning'][1 + (hv // 13 % 2)::INT] AS visitor_type,
  ['Windows', 'macOS', 'iOS', 'Android', 'Linux'][1 + (hv // 17 % 5)::INT] AS os,
  ['US', 'GB', 'DE', 'FR', 'CA', 'ES', 'IT', 'NL', 'JP', 'BR'][1 + (hv // 19 % 10)::INT] AS country,
  'R' || hv // 23 % 40 AS region,
  ['Chrome', 'Safari', 'Firefox', 'Edge'][1 + (hv // 29 % 4)::INT] AS browser
FROM typed
"""

PROJECT = Project(
    id=PROJECT_ID,
    account_id="acc_bench",
    name="Bench",
    url="https://shop.example",
    sdk_key="pk_bench",
    created_at=STARTED,
    updated_at=STARTED,
    reporting_timezone="America/New_York",
)


def _experiment(letter: str, variants: int) -> Experiment:
    return Experiment(
        id=f"exp_{letter}",
        project_id=PROJECT_ID,
        name=f"Experiment {letter}",
        test_key=f"experiment-{letter}",
        salt=letter,
        url="https://shop.example",
        created_at=STARTED,
        updated_at=STARTED,
        status="running",
        started_at=STARTED,
        variants=tuple(
            Variant(id=f"var_{letter}{number}", name=f"Variant {number}", is_control=number == 0)
            for number in range(variants)
        ),
        goals=(
            Goal(
                id=f"goal_{letter}_order",
                name="Order",
                goal_type="custom_event",
                is_primary=True,
                config={"event_name": "purchase"},
            ),
            Goal(id=f"goal_{letter}_money", name="Revenue", goal_type="revenue"),
            Goal(
                id=f"goal_{letter}_thanks",
                name="Thanked",
                goal_type="pageview",
                config={"url": "https://shop.example/thanks"},
            ),
        ),
    )


EXPERIMENTS = (_experiment("a", 2), _experiment("b", 3))


def experiments_of(count: int) -> tuple[Experiment, ...]:
    """List `count` experiments whose goals have the same three definitions (see `spread`)."""
    return tuple(_experiment(f"{number}x", 3) for number in range(count))


# The second exposures of a single experiment's visitors are to no experiment.
_SPREAD = """
UPDATE "events_{project}" SET
  experiment_id = 'exp_' || ((visitor_key + (experiment_id = 'exp_b')::INT) % {count})
    || if({count} = 1 AND experiment_id = 'exp_b', '', 'x'),
  variant_id = 'var_' || ((visitor_key + (experiment_id = 'exp_b')::INT) % {count}) || 'x'
    || right(variant_id, 1)
WHERE type = 'exposure'
"""


def spread(folder: Path, count: int) -> None:
    """Spread the exposures of a warehouse of `fill` evenly over `experiments_of(count)`."""
    warehouse = Warehouse.open(Settings(data_dir=folder))
    with warehouse.transaction() as cursor:
        spread_exposures(cursor, count)
    warehouse.close()


def spread_exposures(cursor: Cursor, count: int) -> None:
    """Spread the exposures of `add_events` evenly over `experiments_of(count)`."""
    cursor.execute(_SPREAD.format(project=PROJECT_ID, count=count))


def fill(folder: Path, count: int, *, identified: bool = False) -> None:
    """Make a warehouse of `count` events in an empty folder; with user ids if `identified`."""
    shutil.rmtree(folder, ignore_errors=True)
    warehouse = Warehouse.open(Settings(data_dir=folder))
    with warehouse.transaction() as cursor:
        add_events(cursor, count, identified=identified)
    warehouse.close()


def add_events(cursor: Cursor, count: int, *, identified: bool = False) -> None:
    """Add `count` events to a store without any; with user ids if `identified`."""
    events.create_table(cursor, PROJECT_ID)
    cursor.execute(
        _FILL.format(
            project=PROJECT_ID,
            events=count,
            each=EVENTS_A_VISITOR,
            start=_START_US,
            span=(DAYS - 1) * _DAY_US,
            half_day=_DAY_US // 2,
            identified=identified,
        )
    )
