"""Searches: bounded look-ahead on workers. Ask for one, watch it, cancel it."""

from routing.services.searches.cancelling import cancel, cancel_by_operator
from routing.services.searches.keeping import TREE_LASTS, forget_trees
from routing.services.searches.request import HistoryRequest, SearchRequest, request_by_operator, request_search
from routing.services.searches.telling import describe, find, tree_of

__all__ = [
    "TREE_LASTS",
    "HistoryRequest",
    "SearchRequest",
    "cancel",
    "cancel_by_operator",
    "describe",
    "find",
    "forget_trees",
    "request_by_operator",
    "request_search",
    "tree_of",
]
