"""Single stemmers of snowballstemmer. Its own door loads all of its languages, which takes longer than a whole ranking."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Protocol

_PACKAGE = "snowballstemmer"


class Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


@cache
def stemmer(language: str) -> Callable[[], Stemmer]:
    """Makes stemmers of one language, for example `english`; threads do not share one."""
    found: Callable[[], Stemmer] = getattr(_module(language), f"{language.capitalize()}Stemmer")
    return found


def _module(language: str) -> ModuleType:
    name = f"{_PACKAGE}.{language}_stemmer"
    spec = find_spec(_PACKAGE) if _PACKAGE not in sys.modules else None
    if spec is None or spec.submodule_search_locations is None:
        return import_module(name)
    # For the length of one import the package stands there empty; then whoever wants all of it gets all of it.
    bare = ModuleType(_PACKAGE)
    bare.__path__ = list(spec.submodule_search_locations)
    sys.modules[_PACKAGE] = bare
    try:
        return import_module(name)
    finally:
        del sys.modules[_PACKAGE]
