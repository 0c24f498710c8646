"""The table of all holders of personal texts, which erasures, receipts and tests walk."""

from typing import Final

from pipeline.erasure.catalog_holders import CATALOG
from pipeline.erasure.file_holders import FILES, OUTSIDE
from pipeline.erasure.holder import Holder
from pipeline.erasure.warehouse_holders import WAREHOUSE

HOLDERS: Final[tuple[Holder, ...]] = (*WAREHOUSE, *CATALOG, *FILES, *OUTSIDE)
