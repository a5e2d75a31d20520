"""Filters of a list: kept in its address, shown as chips, and taken away one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.http import urlencode

from routing.listings import Page

LONGEST = 200
ALL = "view=all"  # says in an address that a list is wanted as it is, without the person's default view
NEWEST_FIRST = "-time"  # the usual order of what is only ever added to


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What was chosen on a list, and the list's own address."""

    path: str
    names: Sequence[str]
    chosen: Mapping[str, str]
    sort: str = ""  # empty for the list's usual order
    bare: str = ""  # what stands in the address where nothing is chosen

    @classmethod
    def read(cls, request: HttpRequest, path: str, names: Sequence[str], sorts: Sequence[str] = ()) -> Filters:
        """From the query string. What is empty, unknown or beyond LONGEST characters chooses nothing more."""
        given = {name: request.GET.get(name, "").replace("\0", "").strip()[:LONGEST] for name in names}
        sort = request.GET.get("sort", "")
        known = sort if sort.removeprefix("-") in sorts else ""
        bare = f"?{ALL}" if getattr(request, "default_view", None) else ""
        chosen = {name: value for name, value in given.items() if value}
        return cls(path=path, names=names, chosen=chosen, sort=known, bare=bare)

    def address(self, **changed: Any) -> str:
        """The list with these parts changed; an empty one is left out, and so is the page."""
        query = {**self.chosen, "sort": self.sort, **changed}
        kept = {key: value for key, value in query.items() if value}
        return self.path + (f"?{urlencode(kept)}" if kept else self.bare)

    @property
    def clear(self) -> str:
        """The list with nothing chosen."""
        return self.path + self.bare

    def chips(self, words: Mapping[str, str]) -> list[dict[str, str]]:
        """One for each filter: `words` says what it is called where its own name would not do."""
        return [
            {"name": name, "word": words.get(name, name), "value": value, "without": self.address(**{name: ""})}
            for name, value in self.chosen.items()
        ]

    def heads(self, columns: Sequence[tuple[str, str, str]], usual: str) -> list[dict[str, str]]:
        """Sortable heads of (key, word, class): where each leads, and in which order the list is now."""
        now = self.sort or usual
        return [
            {
                "key": key,
                "word": word,
                "class": shape,
                "address": self.address(sort="" if (wanted := f"-{key}" if now == key else key) == usual else wanted),
                "order": {key: "ascending", f"-{key}": "descending"}.get(now, ""),
            }
            for key, word, shape in columns
        ]


def number(request: HttpRequest, name: str = "page") -> int:
    """The page that was asked for; the first for whatever is no number."""
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 8 else 1


def ends(filters: Filters, page: Page, *, upwards: bool) -> dict[str, str]:
    """Addresses of the neighbours of a page of a ledger, with their words; `upwards` is the oldest row first."""
    older, newer = "Older", "Newer"
    return {
        "previous_page": filters.address(before=page.previous) if page.previous else "",
        "next_page": filters.address(after=page.next) if page.next else "",
        "previous_word": older if upwards else newer,
        "next_word": newer if upwards else older,
        "first_page": filters.address(),
        "first_word": "oldest" if upwards else "newest",
    }


def turns(filters: Filters, cut: Any, key: str = "page", **others: Any) -> dict[str, Any]:
    """A page of a list with the addresses of its neighbours, which keep `others`."""
    earlier, later = cut.number - 1 if cut.number > 2 else "", cut.number + 1
    return {
        "cut": cut,
        "previous": filters.address(**{key: earlier}, **others) if cut.number > 1 else "",
        "next": filters.address(**{key: later}, **others) if cut.number < cut.pages else "",
    }
