"""A search tree as a drawing: places, widths and words of the nodes that are shown, root at the left."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from control.web.words import spelled

NARROWEST, WIDEST, ROW = 104, 210, 40
LETTER, BESIDE = 6.6, 62  # width of a letter; of what stands on both sides of a word
LEFT, TOP = 20, 26
ROOM_FOR_VALUE = 56
LONGEST_WORD = 22
Told = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Drawn:
    """A node with its place; `edge` is the path that leads to it."""

    id: int
    key: str
    parent: str
    tool: str
    word: str
    depth: int
    visits: int
    value: float
    prior: float | None
    reward: float
    terminal: bool
    principal: bool
    folded: int = 0  # nodes that are hidden below it
    leads_on: bool = False
    x: float = 0.0
    y: float = 0.0
    radius: float = 0.0
    width: float = 0.0
    edge: str = ""
    address: str = ""  # where it is folded, or not any more

    @property
    def box(self) -> dict[str, float]:
        return {"x": self.x - self.radius, "y": self.y - self.radius, "side": 2 * self.radius}

    @property
    def left(self) -> float:
        return self.x - self.radius - 4

    @property
    def right(self) -> float:
        return self.x + self.radius + 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    nodes: Sequence[Drawn]  # as they stand from top to bottom
    width: float
    height: float
    known: int  # nodes of which some are drawn

    @property
    def is_wide(self) -> bool:
        """Too wide to be read in the place that a page has for it."""
        return self.width > 1000


@dataclass(slots=True)
class _Layout:
    below: Mapping[int, Sequence[Told]]
    folded: Collection[str]
    heaviest: int
    line: Collection[int]
    column: float
    rows: int = 0
    nodes: list[Drawn] = field(default_factory=list)

    def place(self, node: Told, parent: Drawn | None, path: str) -> Drawn:
        path = f"{path}/{node['tool'] or ''}"
        key = hashlib.sha256(path.encode()).hexdigest()[:8]
        children = self.below.get(node["id"], ())
        share = math.sqrt(node["visits"] / self.heaviest) if self.heaviest else 0.35
        drawn = Drawn(
            **{name: node[name] for name in ("id", "depth", "visits", "value", "prior", "reward", "terminal")},
            key=key,
            parent=parent.key if parent else "",
            tool=node["tool"] or "",
            word=_word(node["tool"] or ""),
            principal=node["id"] in self.line,
            leads_on=bool(children),
            x=LEFT + node["depth"] * self.column,
            y=TOP + self.rows * ROW,
            radius=round(5 + 4.5 * share, 1),
            width=round(1.5 + 6 * share, 1),
        )
        drawn.edge = _edge(parent, drawn)
        self.nodes.append(drawn)
        if key in self.folded:
            drawn.folded = self._size(children)
            children = ()
        for place, child in enumerate(children):
            if place:
                self.rows += 1
            self.place(child, drawn, path)
        return drawn

    def _size(self, children: Sequence[Told]) -> int:
        return sum(1 + self._size(self.below.get(child["id"], ())) for child in children)


def draw(tree: Sequence[Told], *, most: int, folded: Collection[str] = (), line: Sequence[str] = ()) -> Drawing:
    """The first nodes of a tree (those that matter most). `line` is the principal one; empty: where visits lead."""
    shown = tree[:most]
    below: defaultdict[int, list[Told]] = defaultdict(list)
    for node in shown:
        if node["parent"] is not None:
            below[node["parent"]].append(node)
    for children in below.values():
        children.sort(key=lambda node: (-node["visits"], -node["value"], node["tool"]))
    followed = _followed(below, line)
    for children in below.values():
        children.sort(key=lambda node: node["id"] not in followed)
    if not shown:
        return Drawing(nodes=(), width=0, height=0, known=0)
    layout = _Layout(below=below, folded=folded, heaviest=shown[0]["visits"], line=followed, column=_column(shown))
    layout.place(shown[0], None, "")
    width = max(node.x for node in layout.nodes) + ROOM_FOR_VALUE
    height = max(node.y for node in layout.nodes) + 24
    return Drawing(nodes=layout.nodes, width=width, height=height, known=len(tree))


def principal(tree: Sequence[Told], line: Sequence[str] = ()) -> list[Told]:
    """The nodes of the principal line, the root left out."""
    below: defaultdict[int, list[Told]] = defaultdict(list)
    for node in tree:
        if node["parent"] is not None:
            below[node["parent"]].append(node)
    followed = _followed(below, line)
    return [node for node in tree if node["id"] in followed and node["parent"] is not None]


def _followed(below: Mapping[int, Sequence[Told]], line: Sequence[str]) -> set[int]:
    followed, place = {0}, 0
    steps = list(line)
    while children := below.get(place):
        if line and not steps:
            break
        wanted = steps.pop(0) if line else None
        best = max(children, key=lambda node: (node["visits"], node["value"], node["tool"]))
        place = next((node["id"] for node in children if node["tool"] == wanted), best["id"] if not line else -1)
        followed.add(place)
    return followed


def _column(shown: Sequence[Told]) -> float:
    """Room for the longest word."""
    longest = max((len(_word(node["tool"] or "")) for node in shown), default=0)
    return round(min(WIDEST, max(NARROWEST, longest * LETTER + BESIDE)))


def _edge(parent: Drawn | None, node: Drawn) -> str:
    if parent is None:
        return ""
    if parent.y == node.y:
        return f"M{parent.x} {parent.y}H{node.x}"
    return f"M{parent.x} {parent.y}h12q8 0 8 8V{node.y - 8}q0 8 8 8H{node.x}"


def _word(tool: str) -> str:
    word = spelled(tool.partition("__")[2] or tool)
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
