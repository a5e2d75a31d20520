"""Pure decisions: which tool for this activity, which step next. No Django, no clock, no I/O.

The tour, in the order of a request:

    registry    what a workspace's document says, as values (`validation` reads it, `naming` names its tools)
    catalog     a registry compiled: `load_registry`; `index` holds the postings, `scope` what each harness may see
    activity    what a harness is doing, put together as one text
    query       that text read into terms: asked for, mentioned, forbidden, or no request at all (`text`, `vocabulary`)
    matching    which words of the catalog a term may stand for (`concepts` holds the classes)
    scoring     rank the tools in sight
    policy      judge the ranking: confident, ambiguous, no_match
    recommend   the front door, `resolve`, and the answers of the contract (`summary` bounds them, `explain` gives reasons)
"""

from routing.engine.activity import assemble
from routing.engine.catalog import Catalog, load_registry
from routing.engine.errors import RegistryError
from routing.engine.recommend import Ranked, Resolution, describe_tool, rank, resolve, resolve_detailed, search_tools

__all__ = [
    "Catalog",
    "Ranked",
    "RegistryError",
    "Resolution",
    "assemble",
    "describe_tool",
    "load_registry",
    "rank",
    "resolve",
    "resolve_detailed",
    "search_tools",
]
