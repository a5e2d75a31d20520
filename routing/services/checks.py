"""What a document is checked for before it goes live: whether it does what it expects of itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing import snapshot
from routing.engine.expectations import run_expectations
from routing.engine.validation import parse_document
from routing.errors import ExpectationsFailed

MOST = 8  # reports that a process keeps; asking ten thousand tools takes seconds, and a page shows them again and again
_WORDS = {
    "status": "the status",
    "recommendation": "the recommended tool",
    "recommendation_in": "the recommended tool",
    "not_recommended": "a tool that must not be recommended",
    "in_top_k": "who is among the first",
    "not_in_top_k": "who must not be among the first",
    "not_in_results": "who must not be in the results",
    "not_confident_except": "who may be recommended with confidence",
    "ambiguous": "whether it is ambiguous",
    "confidence_in": "the confidence",
    "reason_codes_include": "the reasons that must be given",
    "reason_codes_exclude": "the reasons that must not be given",
    "required_fields": "the required fields",
    "argument_template_truncated": "the template of arguments",
    "alternatives_max": "the number of alternatives",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An expectation that is not met, and the keys of `expect` that come out differently."""

    name: str
    differs: tuple[str, ...]

    @property
    def words(self) -> str:
        return ", ".join(dict.fromkeys(_WORDS.get(key, key) for key in self.differs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How many expectations hold, which do not, and how many are searches, which are not asked here."""

    passed: int
    broken: tuple[Broken, ...] = ()
    skipped: int = 0

    @property
    def asked(self) -> int:
        return self.passed + len(self.broken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a valid document was found to be: notes about it, and its expectations."""

    warnings: tuple[Mapping[str, Any], ...]
    outcome: Outcome


_noted: OrderedDict[Any, tuple[Mapping[str, Any], ...]] = OrderedDict()  # digest of a document -> its warnings


def is_known(workspace_id: Any, digest: str) -> bool:
    """Whether `of` answers at once."""
    return digest in _noted and (workspace_id, digest) in _known


def of(workspace_id: Any, document: Mapping[str, Any], digest: str) -> Checked:
    """Check a valid document; once for each document, since ten thousand tools take seconds."""
    if digest not in _noted:
        _keep(_noted, digest, tuple(parse_document(document).warnings))
    return Checked(warnings=_noted[digest], outcome=expectations_of(workspace_id, document, digest))


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST:
        kept.popitem(last=False)


_known: OrderedDict[Any, Outcome] = OrderedDict()  # (workspace id, digest of the document) -> its outcome


def expectations_of(workspace_id: Any, document: Mapping[str, Any], digest: str, *, anew: bool = False) -> Outcome:
    """Compile a valid document and ask its expectations. `anew` asks again though the answer is known, and compiles a
    document without expectations too; raises whatever stands in the way of compiling.
    """
    key = (workspace_id, digest)
    known = _known.get(key)
    if known is not None and not anew:
        return known
    if not document.get("expectations") and not anew:
        outcome = Outcome(passed=0)
    else:
        report = run_expectations(snapshot.try_out(workspace_id, document))
        broken = tuple(Broken(name=one["name"], differs=tuple(one["differs"])) for one in report.failed)
        outcome = Outcome(passed=report.passed, broken=broken, skipped=len(report.skipped))
    _keep(_known, key, outcome)
    return outcome


def refusal(number: int, broken: Sequence[Broken]) -> ExpectationsFailed:
    """Why a revision is not published, naming what is not met."""
    many = len(broken) != 1
    return ExpectationsFailed(
        f"Revision {number} does not do what it expects of itself: {len(broken)} "
        f"{'expectations are' if many else 'expectation is'} not met.",
        [
            {"path": f"expectations[{one.name}]", "message": f"comes out differently: {', '.join(one.differs)}"}
            for one in broken
        ],
    )
