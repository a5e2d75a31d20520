"""What was posted about several rows of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST = 500  # rows in one step: ten pages of a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The deed, the rows that it is about, and the version of the draft that they were chosen from."""

    do: str
    picks: tuple[str, ...]
    seen: int | None
    back: str  # address of the list, as the person had it
    confirmed: bool
    said: Mapping[str, str]  # what the deed needs besides

    @classmethod
    def posted(cls, data: Any, names: Sequence[str], *, back: str) -> Chosen:
        """`names` are the further fields; those that are empty are left out."""
        given = {name: data.get(name, "").strip() for name in names}
        seen = data.get("seen", "")
        return cls(
            do=data.get("do", ""),
            picks=tuple(dict.fromkeys(data.getlist("pick"))),
            seen=int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else None,
            back=back,
            confirmed="confirmed" in data,
            said={name: value for name, value in given.items() if value},
        )

    def fields(self, picks: Sequence[str], seen: int) -> dict[str, str | Sequence[str]]:
        """As the same is posted once more, by somebody who has seen what it does."""
        again: dict[str, str | Sequence[str]] = {"do": self.do, "back": self.back, "seen": str(seen), "confirmed": "on"}
        return again | {"pick": picks} | dict(self.said)
