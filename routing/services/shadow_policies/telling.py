"""What shadow policies found: sums, differences, and what is known of the live answers that they would have given otherwise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q

from routing.choices import DomainStatus, LabelVerdict
from routing.engine.lab import Interval, wilson
from routing.engine.shadow_policy import KINDS, SAME
from routing.models import Label, ShadowDifference, ShadowPolicy, Workspace

MOST_KNOWN = 2_000  # differences that are looked at for what came of them; the newest


def running(workspace: Workspace) -> list[ShadowPolicy]:
    """Those that score now, by the policy's name."""
    rows = ShadowPolicy.objects.filter(workspace=workspace, ended_at=None)
    return list(rows.defer("values", "base", "counts", "unjudged").order_by("policy"))


def newest(workspace: Workspace, policy: str) -> ShadowPolicy | None:
    return ShadowPolicy.objects.filter(workspace=workspace, policy=policy).first()


def of_policy(workspace: Workspace, policy: str) -> list[ShadowPolicy]:
    """All that are kept of a policy, the newest first."""
    return list(ShadowPolicy.objects.filter(workspace=workspace, policy=policy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Decisions that were judged again, and those that could not be."""

    kinds: Mapping[str, int]  # SAME among them
    scopes: Mapping[str, Mapping[str, int]]
    unjudged: Mapping[str, int]

    @property
    def judged(self) -> int:
        return sum(self.kinds.values())

    @property
    def same(self) -> int:
        return self.kinds.get(SAME, 0)

    @property
    def different(self) -> int:
        return self.judged - self.same

    @property
    def not_judged(self) -> int:
        return sum(self.unjudged.values())

    @property
    def seen(self) -> int:
        return self.judged + self.not_judged


def sums(row: ShadowPolicy) -> Sums:
    kinds: Counter[str] = Counter()
    for counts in row.counts.values():
        kinds.update(counts)
    return Sums(kinds=dict(kinds), scopes=dict(sorted(row.counts.items())), unjudged=row.unjudged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Of the decisions that would have been made otherwise: how many live answers turned out right, and wrong."""

    right: int = 0
    wrong: int = 0

    @property
    def total(self) -> int:
        return self.right + self.wrong

    @property
    def interval(self) -> Interval:
        """Where the share of right ones lies, 95 times in 100."""
        return wilson(self.right, self.total)


def known(row: ShadowPolicy) -> dict[str, Known]:
    """By kind of difference, of the newest that are listed. What people say stands over what was reported."""
    labelled = Exists(Label.objects.filter(decision=OuterRef("decision")))
    told = Q(decision__domain__in=(DomainStatus.SUCCESS, DomainStatus.FAILURE))
    rows = ShadowDifference.objects.filter(told | Q(labelled), shadow=row).values(
        "kind", "decision_id", "decision__domain", "decision__agreed", "decision__target"
    )[:MOST_KNOWN]
    said = _said([one["decision_id"] for one in rows])
    found: dict[str, Counter[bool]] = {kind: Counter() for kind in KINDS}
    for one in rows:
        opinions = said.get(one["decision_id"])
        was_right = _reported(one) if opinions is None else _agreed(opinions)
        if was_right is not None and one["kind"] in found:
            found[one["kind"]][was_right] += 1
    return {kind: Known(right=counts[True], wrong=counts[False]) for kind, counts in found.items()}


def _said(decisions: list[Any]) -> dict[Any, set[str]]:
    found: dict[Any, set[str]] = defaultdict(set)
    for start in range(0, len(decisions), 500):
        labels = Label.objects.filter(decision__in=decisions[start : start + 500])
        for decision, verdict in labels.order_by().values_list("decision_id", "verdict"):
            found[decision].add(verdict)
    return dict(found)


def _agreed(opinions: set[str]) -> bool | None:
    """What all say; None where people differ."""
    return opinions == {LabelVerdict.RIGHT} if len(opinions) == 1 else None


def _reported(one: Mapping[str, Any]) -> bool | None:
    """What an outcome says of the tool that was recommended; nothing where none was, or where it cannot be told whose it is."""
    if not one["decision__target"]:
        return None
    success = bool(one["decision__domain"] == DomainStatus.SUCCESS)
    if one["decision__agreed"] is False:  # another tool was called: its success tells against this one
        return False if success else None
    return success
