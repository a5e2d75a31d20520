"""What differs between two registry documents, entry by entry and field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MISSING: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference. `path` is like `endpoints[git].tools[git_log].risk`; lists of names or texts change as a whole."""

    path: str
    action: str  # added | removed | changed
    before: Any = None
    after: Any = None

    def as_dict(self) -> dict[str, Any]:
        sides = {"added": ("after",), "removed": ("before",), "changed": ("before", "after")}[self.action]
        return {"path": self.path, "action": self.action} | {side: getattr(self, side) for side in sides}


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """All changes from one document to another, in the order of the newer one, removals last in each list."""
    return list(_mappings("", before, after))


def _mappings(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for key in [*after, *(key for key in before if key not in after)]:
        inner = f"{path}.{key}" if path else str(key)
        yield from _values(inner, before.get(key, _MISSING), after.get(key, _MISSING))


def _values(path: str, before: Any, after: Any) -> Iterator[Change]:
    if before == after and type(before) is type(after):
        return
    if _is_named(before, after):
        yield from _named_lists(path, [] if before is _MISSING else before, [] if after is _MISSING else after)
    elif isinstance(before, Mapping) and isinstance(after, Mapping) and not path.endswith("_schema"):
        yield from _mappings(path, before, after)
    elif before is _MISSING:
        yield Change(path=path, action="added", after=after)
    elif after is _MISSING:
        yield Change(path=path, action="removed", before=before)
    else:
        yield Change(path=path, action="changed", before=before, after=after)


def _is_named(before: Any, after: Any) -> bool:
    """Whether both sides are lists of entries with unique names (a missing side counts as an empty list)."""
    sides = [side for side in (before, after) if side is not _MISSING]
    return bool(sides) and all(_names(side) is not None for side in sides) and any(sides)


def _names(value: Any) -> list[str] | None:
    if not isinstance(value, list | tuple):
        return None
    names = [str(item["name"]) for item in value if isinstance(item, Mapping) and isinstance(item.get("name"), str)]
    return names if len(names) == len(value) == len(set(names)) else None


def _named_lists(path: str, before: Any, after: Any) -> Iterator[Change]:
    old = {item["name"]: item for item in before}
    new = {item["name"]: item for item in after}
    for name, item in new.items():
        inner = f"{path}[{name}]"
        if name in old:
            yield from _mappings(inner, old[name], item)
        else:
            yield Change(path=inner, action="added", after=item)
    for name, item in old.items():
        if name not in new:
            yield Change(path=f"{path}[{name}]", action="removed", before=item)
    kept = [name for name in old if name in new]
    if kept != [name for name in new if name in old]:
        yield Change(path=f"{path}.order", action="changed", before=kept, after=[name for name in new if name in old])
