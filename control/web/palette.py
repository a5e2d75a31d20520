"""The finder: everything that a person may see or do in a workspace, by its name. A dialog, and a page without script."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from control.access import allows, may
from control.models import HarnessKey, Membership
from control.web import tools
from control.web.finding import Found, Named, Query
from routing import snapshot
from routing.engine.catalog import Catalog
from routing.models import AuditEntry, CapabilityRow, Decision, EndpointRow, PolicyRow, Revision, ScopeRow, Workspace

TOOLS, OTHERS = 8, 5
_SHORT_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})")
_ID = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
_NUMBER = re.compile(r"(?:(revision|rev|r|audit|entry|#)\s*)?#?(\d{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line of the finder."""

    icon: str
    name: list[tuple[str, bool]]
    address: str
    note: str = ""
    keys: str = ""
    rank: tuple[int, int, str] = (9, 0, "")
    mono: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    title: str
    hits: list[Hit]


@require_safe
@vary_on_headers("HX-Request")
@may("overview.view")
def go(request: Any, workspace: Workspace) -> HttpResponse:
    """What fits `q`; without it the pages and what can be done."""
    query = Query(request.GET.get("q", ""))
    context = {"query": query, "groups": numbered(groups(request, workspace, query))}
    return render(request, "palette/_hits.html" if request.htmx else "palette/page.html", context)


def numbered(found: Iterable[Group]) -> list[dict[str, Any]]:
    """Groups with a number for each hit, by which the field names the one that it is at."""
    place, told = 0, []
    for group in found:
        told.append({"title": group.title, "hits": [(place + n, hit) for n, hit in enumerate(group.hits, 1)]})
        place += len(group.hits)
    return told


def groups(request: Any, workspace: Workspace, query: Query) -> list[Group]:
    """What fits, the group with the best fit first; what can be done with the words themselves comes last."""
    finder = Finder(request, workspace, query)
    found = [Group(title=title, hits=hits) for title, find in finder.sources() if (hits := list(find()))]
    found.sort(key=lambda group: min(hit.rank[0] for hit in group.hits))
    about = list(finder.about())
    return found + ([Group(title="About these words", hits=about)] if about else [])


class Finder:
    """One question in one workspace by one person."""

    def __init__(self, request: HttpRequest, workspace: Workspace, query: Query) -> None:
        self.workspace, self.query = workspace, query
        self.role = request.role  # type: ignore[attr-defined]

    def sources(self) -> Iterator[tuple[str, Callable[[], Iterable[Hit]]]]:
        """Each kind of thing with its finder, as far as the role may see it."""
        if self.query.words:
            yield "By number", self._by_number
        if self.query.words and allows(self.role, "registry.view"):
            yield "Tools", self._tools
            yield "Endpoints", self._endpoints
            yield "Capabilities", self._capabilities
            yield "Scopes and policies", self._scopes
        if self.query.words and len(self.query.text) > 2:
            yield "Revisions", self._revisions
        if self.query.words and allows(self.role, "people.view"):
            yield "People and keys", self._people
        yield "Pages", self._pages
        yield "Do", self._actions

    def _at(self, name: str, *args: Any) -> str:
        return reverse(name, args=[self.workspace.name, *args])

    def _hit(self, found: Found, icon: str, address: str, note: str = "", *, mono: bool = True, keys: str = "") -> Hit:
        name = self.query.spans(found.name)
        return Hit(icon=icon, name=name, address=address, note=note, rank=found.rank, mono=mono, keys=keys)

    # --- the registry ---
    def _tools(self) -> Iterator[Hit]:
        catalog = snapshot.live(self.workspace.pk).catalog
        for found in self.query.best(named_tools(self.workspace.pk, catalog), TOOLS):
            doc = found.thing
            note = doc.title if doc.title != doc.wire else ""
            yield self._hit(found, "tool", tools.address(self.workspace, doc.public), note)

    def _endpoints(self) -> Iterator[Hit]:
        rows = EndpointRow.objects.filter(workspace=self.workspace).order_by().annotate(number=Count("tools"))
        things = [
            Named.of(name, f"{kind}, {number:,} {'tool' if number == 1 else 'tools'}", title or "", " ".join(tags))
            for name, kind, title, tags, number in rows.values_list("name", "kind", "title", "tags", "number")
        ]
        for found in self.query.best(things, OTHERS):
            yield self._hit(found, "endpoint", self._at("endpoint", found.name), found.thing)

    def _capabilities(self) -> Iterator[Hit]:
        rows = CapabilityRow.objects.filter(workspace=self.workspace).order_by().values_list("name", "details")
        things = [Named.of(name, None, *details.get("synonyms", ())) for name, details in rows]
        for found in self.query.best(things, OTHERS):
            yield self._hit(found, "cap", self._at("capability", found.name), "capability")

    def _scopes(self) -> Iterator[Hit]:
        drafted = ScopeRow.objects.filter(workspace=self.workspace).order_by().values_list("name", flat=True)
        live = snapshot.live(self.workspace.pk).catalog.scopes
        things = [Named.of(name, "scope", "scope") for name in sorted({*drafted, *live, "default"})]
        if exists("policy", "p"):
            rows = PolicyRow.objects.filter(workspace=self.workspace).order_by().values_list("name", flat=True)
            things += [Named.of(name, "policy", "policy") for name in rows]
        for found in self.query.best(things, OTHERS):
            icon = "key" if found.thing == "scope" else "policy"
            yield self._hit(found, icon, self._at(found.thing, found.name), found.thing)

    # --- what happened ---
    def _by_number(self) -> Iterator[Hit]:
        match = _NUMBER.fullmatch(self.query.whole)
        if match:
            yield from self._numbered(match[1] or "", int(match[2]))
        yield from self._decisions()

    def _numbered(self, word: str, number: int) -> Iterator[Hit]:
        exact = Found((0, 0, ""), "", None)
        if word not in ("audit", "entry"):
            for row in Revision.objects.filter(workspace=self.workspace, number=number).defer("manifest"):
                said = Found(exact.rank, f"Revision {number}", row)
                yield self._hit(said, "rev", self._at("revision", number), _line(row.message), mono=False)
        if word in ("", "#", "audit", "entry") and allows(self.role, "audit.view"):
            for entry in AuditEntry.objects.filter(workspace=self.workspace, seq=number):
                said = Found(exact.rank, f"Audit entry {number}", entry)
                note = f"{entry.action}, {entry.actor}"
                yield self._hit(said, "audit", self._at("audit-entry", number), _line(note), mono=False)

    def _decisions(self) -> Iterator[Hit]:
        for row in _decisions(self.workspace, self.query.whole):
            note = row.target or row.status or row.state
            yield self._hit(Found((0, 0, ""), str(row.pk), row), "decision", self._at("decision", row.pk), note)

    def _revisions(self) -> Iterator[Hit]:
        rows = Revision.objects.filter(workspace=self.workspace, message__icontains=self.query.text)
        for row in rows.defer("manifest").order_by("-number")[:3]:
            found = Found((6, 0, ""), f"Revision {row.number}: {_line(row.message)}", row)
            yield self._hit(found, "rev", self._at("revision", row.number), str(row.state), mono=False)

    def _people(self) -> Iterator[Hit]:
        things = []
        if exists("people"):
            rows = Membership.objects.filter(workspace=self.workspace).values_list("user__username", "role")
            things += [Named.of(name, ("session", self._at("people"), role)) for name, role in rows[:2000]]
        if exists("keys"):
            keys = HarnessKey.objects.filter(workspace=self.workspace).values_list("name", "scope", "ends_with")
            things += [
                Named.of(name, ("key", self._at("keys"), f"key for {scope}"), ends) for name, scope, ends in keys[:2000]
            ]
        for found in self.query.best(things, OTHERS):
            yield self._hit(found, *found.thing)

    # --- pages and deeds ---
    def _pages(self) -> Iterator[Hit]:
        for found in self.query.best(_named(PAGES, self.role), len(PAGES) if not self.query.words else OTHERS):
            page = found.thing
            yield self._hit(found, page.icon, self._at(page.url) + page.query, page.note, mono=False, keys=page.keys)

    def _actions(self) -> Iterator[Hit]:
        for found in self.query.best(_named(ACTIONS, self.role), len(ACTIONS) if not self.query.words else OTHERS):
            deed = found.thing
            yield self._hit(found, deed.icon, self._at(deed.url) + deed.query, deed.note, mono=False)

    def about(self) -> Iterator[Hit]:
        """What the lists say about the words themselves."""
        if not self.query.words:
            return
        for ask in ABOUT:
            if allows(self.role, ask.needs) and exists(ask.url):
                name = [(ask.title, False), (f"“{self.query.text}”", True), (ask.after, False)]
                address = f"{self._at(ask.url)}{ask.mark}{urlencode({ask.query: self.query.text})}"
                yield Hit(icon=ask.icon, name=[one for one in name if one[0]], address=address, keys=ask.keys)


def _line(text: str) -> str:
    return " ".join(text.split())[:80]


def _decisions(workspace: Workspace, text: str) -> list[Decision]:
    """Decisions whose id begins so, or has this first and last part, as the page of a decision writes it."""
    rows = Decision.objects.filter(workspace=workspace).only("pk", "target", "status", "state").order_by("-pk")
    short = _SHORT_ID.fullmatch(text)
    if short:
        near = rows.filter(pk__range=_range(short[1]))[:500]
        if found := [row for row in near if str(row.pk).endswith(short[2])]:
            return found[:OTHERS]
    digits = text.replace("-", "")
    return list(rows.filter(pk__range=_range(digits))[:OTHERS]) if _ID.fullmatch(text) and len(digits) <= 32 else []


def _range(digits: str) -> tuple[uuid.UUID, uuid.UUID]:
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))


# --- tools are many, and stay the same until something is published -----------------------------------------------------
_tools_of: dict[Any, tuple[Catalog, list[Named]]] = {}


def named_tools(workspace_id: Any, catalog: Catalog) -> list[Named]:
    """The live tools, folded once for each catalog; the last one of each workspace is kept."""
    known = _tools_of.get(workspace_id)
    if known is None or known[0] is not catalog:
        known = catalog, [Named.of(doc.public, doc, doc.wire, doc.title) for doc in catalog.index.docs]
        _tools_of[workspace_id] = known
    return known[1]


# --- pages and deeds by what they are called ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A page or a deed: what it is called, where it is, and what a role needs for it."""

    title: str
    url: str
    icon: str
    needs: str
    words: str = ""
    note: str = ""
    keys: str = ""
    query: str = ""
    after: str = ""  # what follows the words that are asked about
    mark: str = "?"  # what the words stand behind in the address: behind # no server is told them


PAGES = tuple(
    Place(title=title, url=url, icon=icon, needs=needs, words=words, keys=keys)
    for title, url, icon, needs, keys, words in (
        ("Overview", "overview", "overview", "overview.view", "g o", "dashboard live tail"),
        ("Decisions", "decisions", "decision", "decision.view", "g d", "recommendations"),
        ("Sessions", "sessions", "session", "decision.view", "", "loops circuit steps"),
        ("Searches", "searches", "tree", "decision.view", "", "look ahead mcts"),
        ("Endpoints", "endpoints", "endpoint", "registry.view", "g e", "servers models"),
        ("Tools", "tools", "tool", "registry.view", "g t", ""),
        ("Capabilities", "capabilities", "cap", "registry.view", "g c", "vocabulary synonyms"),
        ("Providers", "providers", "plug", "registry.view", "", "decision accounts breaker budget spend shadow"),
        ("Coverage map", "coverage", "cap", "registry.view", "", "capabilities endpoints gaps"),
        ("Scopes", "scopes", "key", "registry.view", "g s", "reach harness"),
        ("Keys", "keys", "key", "key.view", "", "harness secret"),
        ("Policies", "policies", "policy", "registry.view", "", "thresholds settings"),
        ("Playground", "playground", "play", "registry.view", "P", "try a request ranking simulate"),
        ("Hint doctor", "doctor", "doctor", "registry.view", "", "clashes overlaps findings unreachable duplicates"),
        ("Threshold lab", "lab", "lab", "registry.view", "", "precision coverage reliability cost calibrate"),
        ("Expectations", "expectations", "check", "registry.view", "", "tests must come out gates"),
        ("Review and publish", "publish", "review", "registry.view", "g p", "draft changes approve"),
        ("Source of truth", "source", "link", "registry.view", "", "git file drift checkout"),
        ("Revisions", "revisions", "rev", "revision.view", "g r", "history versions"),
        ("Audit log", "audit", "audit", "audit.view", "g a", "who did what"),
        ("People", "people", "session", "people.view", "", "members roles invite"),
        ("Settings", "settings", "gear", "workspace.configure", "", "workspace approvals"),
        ("Saved views", "views", "save", "overview.view", "", "filters lists default"),
        ("Keyboard shortcuts", "shortcuts", "info", "overview.view", "?", "keys help"),
        ("Set up this workspace", "setup", "play", "overview.view", "", "first run demo start"),
    )
)
ACTIONS = tuple(
    Place(title=title, url=url, icon=icon, needs=needs, words=words, query=query)
    for title, url, icon, needs, query, words in (
        ("Publish the draft", "publish", "review", "revision.publish", "", "go live release"),
        ("Propose the draft for review", "publish", "review", "draft.propose", "", "approve"),
        ("Discard the draft", "discard", "undo", "draft.discard", "", "drop throw away reset"),
        ("Compare two revisions", "compare", "rev", "registry.view", "", "diff"),
        (
            "Import a registry",
            "import",
            "out",
            "registry.import",
            "",
            "mcphub mcp.json litellm harvey yaml upload paste",
        ),
        ("Make a harness key", "key-create", "key", "key.manage", "", "create token"),
        ("Ask somebody in", "people", "session", "people.manage", "", "invite member role"),
        ("New endpoint", "endpoint-new", "endpoint", "endpoint.edit", "", "add create server model"),
        ("New capability", "capability-new", "cap", "capability.edit", "", "add create word vocabulary synonym"),
        ("New policy", "policy-new", "policy", "policy.edit", "", "add create thresholds"),
        ("New expectation", "expectation-new", "check", "expectation.edit", "", "add create test must"),
        ("New scope", "scope-new", "key", "scope.edit", "", "add create reach"),
        ("Connect a harness", "connect", "plug", "harness.connect", "", "snippets curl codex claude"),
        ("Show what was changed", "audit", "audit", "audit.view", "?action=changes", "audit log"),
        ("New search", "search-new", "tree", "search.run", "", "look ahead graph paste mcts"),
        (
            "Show sessions that need attention",
            "sessions",
            "session",
            "decision.view",
            "?state=attention",
            "loop circuit",
        ),
        ("Show decisions that fell back", "decisions", "decision", "decision.view", "?status=fallback", "fallback"),
        ("Show decisions without a match", "decisions", "decision", "decision.view", "?status=no_match", "no match"),
        ("Show tools that erase", "tools", "tool", "registry.view", "?effect=erase", "delete harmful"),
    )
)
_PLAYGROUND = Place(
    title="Try ",
    after=" in the playground",
    url="playground",
    icon="play",
    needs="registry.view",
    query="q",
    mark="#",
    keys="P",
)
_LISTS = tuple(
    Place(title=title, url=url, icon=icon, needs=needs, query="q")
    for title, url, icon, needs in (
        ("Show decisions about ", "decisions", "decision", "decision.view"),
        ("List tools about ", "tools", "tool", "registry.view"),
        ("Search the audit log for ", "audit", "audit", "audit.view"),
    )
)
ABOUT = (_PLAYGROUND, *_LISTS)


def _named(places: Iterable[Place], role: str) -> list[Named]:
    open_to = (place for place in places if allows(role, place.needs) and exists(place.url))
    return [Named.of(place.title, place, place.words) for place in open_to]


@cache
def exists(name: str, *more: str) -> bool:
    """Whether the console has a page of this name."""
    try:
        reverse(name, args=["w", *more])
    except NoReverseMatch:
        return False
    return True
