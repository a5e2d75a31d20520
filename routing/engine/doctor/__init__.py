"""The hint doctor: what of a catalog would go wrong before anybody asks, each with its place, its reason and an edit.

    findings    what is found, as values
    sight       the scopes worth asking in, and the resolver to ask
    clashes     hints that do not bring the tool that they are about
    reach       tools that no request finds, or that say what others say
    words       words of hints that tell nothing apart
    wiring      what of the document leads nowhere

Nothing is said on a guess: which hints and tools are asked for is found by counting, what is wrong with them by asking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from routing.engine.catalog import Catalog
from routing.engine.doctor.clashes import hint_clashes
from routing.engine.doctor.findings import CODES, SEVERITIES, Examination, Finding, Suggestion
from routing.engine.doctor.reach import reach
from routing.engine.doctor.sight import Sight
from routing.engine.doctor.wiring import wiring
from routing.engine.doctor.words import empty_words

MOST_ASKED = 1750  # questions to the resolver, each of about two milliseconds over ten thousand tools
MOST_OF_A_KIND = 200

__all__ = ["CODES", "MOST_ASKED", "SEVERITIES", "Examination", "Finding", "Suggestion", "examine"]


def examine(catalog: Catalog, *, most_asked: int = MOST_ASKED) -> Examination:
    """All findings about a catalog, the worst first."""
    sight = Sight(catalog, most_asked)
    found = list(chain(wiring(sight), empty_words(sight), hint_clashes(sight), reach(sight)))
    kept, more = _bounded(_in_order(found))
    return Examination(findings=tuple(kept), more=more, asked=sight.asked, unasked=sight.unasked)


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    once = {one.key: one for one in found}
    return sorted(
        once.values(),
        key=lambda one: (SEVERITIES.index(one.severity), CODES.index(one.code), one.name, one.tool, one.path),
    )


def _bounded(found: Iterable[Finding]) -> tuple[list[Finding], dict[str, int]]:
    kept: list[Finding] = []
    counted: Counter[str] = Counter()
    for one in found:
        counted[one.code] += 1
        if counted[one.code] <= MOST_OF_A_KIND:
            kept.append(one)
    return kept, {code: number - MOST_OF_A_KIND for code, number in counted.items() if number > MOST_OF_A_KIND}
