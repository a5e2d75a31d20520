"""What a document is checked for before it goes live: whether it does what it expects of itself.

A worker checks every draft after its change; what came of it is kept by the document's digest, so that no page asks again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction

from routing import snapshot, working
from routing.dispatch import Dispatch
from routing.engine import Catalog
from routing.engine.expectations import Finding, run_expectations
from routing.engine.policy import shipped_fit
from routing.engine.validation import parse_document
from routing.errors import ExpectationsFailed, NotFound
from routing.models import Check, Workspace

logger = logging.getLogger(__name__)
MOST = (
    8  # outcomes that a process keeps; asking ten thousand tools takes seconds, and a page shows them again and again
)
KEPT = 40  # checks that a workspace keeps
MOST_WARNINGS = 500
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
    "tool": "the tool that the search begins with",
    "search": "the search, whose graph cannot be searched",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An expectation that is not met, the keys of `expect` that come out differently, and what came out."""

    name: str
    differs: tuple[str, ...]
    status: str | None = None
    target: str | None = None

    @property
    def words(self) -> str:
        return ", ".join(dict.fromkeys(_WORDS.get(key, key) for key in self.differs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of each expectation, in the document's order."""

    findings: Mapping[str, Finding]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Outcome:
        return cls(findings={one.name: one for one in findings})

    @property
    def asked(self) -> int:
        return len(self.findings)

    @property
    def passed(self) -> int:
        return sum(one.is_met for one in self.findings.values())

    @property
    def broken(self) -> tuple[Broken, ...]:
        return tuple(
            Broken(name=one.name, differs=one.differs, status=one.status, target=one.target)
            for one in self.findings.values()
            if not one.is_met
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a valid document was found to be: notes about it, and its expectations."""

    warnings: Sequence[Mapping[str, Any]]
    outcome: Outcome


_known: OrderedDict[Any, Checked] = OrderedDict()  # (workspace id, digest of the document, ground) -> what it was found


def known(workspace_id: Any, digest: str) -> Checked | None:
    """What a document was found to be, when it was checked before; asks nothing anew."""
    key = (workspace_id, digest, _ground(workspace_id))
    if key in _known:
        _known.move_to_end(key)
        return _known[key]
    row = Check.objects.filter(workspace_id=workspace_id, digest=digest, ground=key[2]).first()
    if row is None:
        return None
    findings = [Finding(name=n, differs=tuple(d), status=s, target=t) for n, d, s, t in row.findings]
    return _remember(key, Checked(warnings=row.warnings, outcome=Outcome.of(findings)))


def forget() -> None:
    """Drop what this process remembers (tests change databases under it)."""
    _known.clear()


def of(workspace_id: Any, document: Mapping[str, Any], digest: str) -> Checked:
    """Check a valid document; once for each document, since ten thousand tools take seconds."""
    found = known(workspace_id, digest)
    if found is not None:
        return found
    parsed = parse_document(document)
    previous = _live_catalog(workspace_id)
    asked = bool(parsed.registry.expectations)
    findings = run_expectations(Catalog(parsed.registry, previous=previous)).findings if asked else ()
    return _keep(workspace_id, digest, Checked(warnings=list(parsed.warnings), outcome=Outcome.of(findings)))


def anew(workspace_id: Any, document: Mapping[str, Any], digest: str) -> Outcome:
    """Compile a valid document as every process will, and ask its expectations though the answer may be known; raises
    whatever stands in the way of compiling.
    """
    outcome = Outcome.of(run_expectations(snapshot.try_out(workspace_id, document)).findings)
    before = known(workspace_id, digest)
    warnings = list(parse_document(document).warnings) if before is None else before.warnings
    return _keep(workspace_id, digest, Checked(warnings=warnings, outcome=outcome)).outcome


def check_draft(workspace_id: Any) -> Checked | None:
    """Check a draft as it is now; nothing when its workspace is gone. Returns at once when it was checked."""
    workspace = Workspace.objects.filter(pk=workspace_id).first()
    if workspace is None:
        return None
    copy = working.copy_of(workspace)
    return of(workspace.pk, copy.document, copy.digest)


# --- who checks -------------------------------------------------------------------------------------------------------
workers = Dispatch("the check of a draft of workspace")


def want(workspace: Workspace) -> None:
    """Have the draft checked once it is committed. An edit never waits for it and never fails for it: where no worker
    does it, the page that shows the checks does.
    """
    key = str(workspace.pk)
    transaction.on_commit(lambda: workers.send(key), robust=True)


# --- what is kept -----------------------------------------------------------------------------------------------------
def _ground(workspace_id: Any) -> str:
    """What the same document may be judged by otherwise: another fit, or another calibration."""
    live = _live_catalog(workspace_id)
    return f"{shipped_fit()}-{live.calibration.version if live else 0}"


def _live_catalog(workspace_id: Any) -> Catalog | None:
    try:
        return snapshot.live(workspace_id).catalog
    except NotFound:
        return None


def _live_digest(workspace_id: Any) -> str:
    try:
        return snapshot.live(workspace_id).digest
    except NotFound:
        return ""


def _remember(key: Any, checked: Checked) -> Checked:
    _known[key] = checked
    _known.move_to_end(key)
    while len(_known) > MOST:
        _known.popitem(last=False)
    return checked


def _keep(workspace_id: Any, digest: str, checked: Checked) -> Checked:
    ground = _ground(workspace_id)
    findings = [[one.name, list(one.differs), one.status, one.target] for one in checked.outcome.findings.values()]
    told = {"findings": findings, "warnings": [dict(one) for one in checked.warnings[:MOST_WARNINGS]]}
    try:
        with transaction.atomic():
            Check.objects.update_or_create(workspace_id=workspace_id, digest=digest, ground=ground, defaults=told)
            rows = Check.objects.filter(workspace_id=workspace_id).exclude(digest=_live_digest(workspace_id))
            Check.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[KEPT : 2 * KEPT])).delete()
    except IntegrityError:
        pass  # another process has just kept the same, or the workspace is gone
    except DatabaseError:
        logger.warning("what a document was found to be could not be kept")
    return _remember((workspace_id, digest, ground), checked)


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
