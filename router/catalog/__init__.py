"""Tools on offer: any host's list of tools to descriptors, with category and risk where not given."""

from router.catalog.categories import CATEGORIES, infer_category
from router.catalog.checks import check_tools
from router.catalog.normalise import normalise_tools
from router.catalog.risk import infer_risk
from router.catalog.servers import Catalog, CatalogEntry, normalise_servers

__all__ = [
    "CATEGORIES",
    "Catalog",
    "CatalogEntry",
    "check_tools",
    "infer_category",
    "infer_risk",
    "normalise_servers",
    "normalise_tools",
]
