"""Forms of the providers' pages: where an account is, what it may cost, and a state to try a preview with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from control.web.forms.endpoints import sentence
from control.web.forms.numbers import ungrouped
from routing.engine.validation.scopes import PROVIDER_KINDS

PLACE = ("kind", "url", "path", "model", "credential")
LONGEST = 4096
_HELP = {
    "name": "1 to 64 of a-z, 0-9, - _ and a dot. Policies name it in their list of providers.",
    "kind": "How it is spoken to. compatible: a gateway that serves the same shape, at a URL of its own.",
    "url": "http or https. Empty: where this kind usually is.",
    "path": "Put behind the URL. Empty: as usual for this kind.",
    "model": "Empty: typesafe/jev-1.13.",
    "credential": "env:NAME, never the secret itself. When kind or URL change it is entered again, since it would go elsewhere.",
}
_LABELS = {"url": "URL", "credential": "Credential reference"}


@dataclass(slots=True, kw_only=True)
class PlaceForm:
    """What was typed about where an account is. `before` is the account that is edited; None for a new one."""

    values: dict[str, str]
    before: Mapping[str, Any] | None = None
    read: str = ""
    problems: dict[str, list[str]] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, body: Mapping[str, Any] | None, read: str = "") -> PlaceForm:
        values = {key: str((body or {}).get(key, "")) for key in ("name", *PLACE)}
        values["kind"] = values["kind"] or "openrouter"
        return cls(values=values | {"credential": ""}, before=body, read=read)

    @classmethod
    def posted(cls, query: QueryDict, before: Mapping[str, Any] | None) -> PlaceForm:
        values = {key: query.get(key, "")[:LONGEST].strip() for key in ("name", *PLACE)}
        return cls(values=values, before=before, read=query.get("read", "")[:64])

    def body(self) -> dict[str, Any]:
        return {key: value for key in ("name", *PLACE) if (value := self.values[key])}

    def changes(self) -> dict[str, Any]:
        """Fields that say something else than `before`; a credential that is left empty is left as it is."""
        before = self.before or {}
        found = {key: self.values[key] or None for key in PLACE if key != "credential"}
        changed = {key: value for key, value in found.items() if value != (before.get(key) or None)}
        return changed | ({"credential": self.values["credential"]} if self.values["credential"] else {})

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside the field that it is about."""
        for detail in details:
            path = str(detail.get("path", ""))
            if path in self.values:
                self.problems.setdefault(path, []).append(sentence("It", detail))
            else:
                self.general.append(sentence(path or "This", detail))

    @property
    def fields(self) -> list[dict[str, Any]]:
        keys = PLACE if self.before is not None else ("name", *PLACE)
        return [
            {
                "key": key,
                "label": _LABELS.get(key, key.capitalize()),
                "help": _HELP[key],
                "value": self.values[key],
                "problems": self.problems.get(key, []),
                "options": PROVIDER_KINDS if key == "kind" else (),
                "kept": (self.before or {}).get("credential", "") if key == "credential" else "",
            }
            for key in keys
        ]


@dataclass(slots=True, kw_only=True)
class MoneyForm:
    """Budget, price and share of the shadow, as text."""

    values: dict[str, str]
    problems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settled: Any) -> MoneyForm:
        share = f"{settled.shadow_share * 100:g}"
        return cls(
            values={
                "monthly_budget": _text(settled.monthly_budget),
                "token_price": _text(settled.token_price),
                "shadow_share": share,
            }
        )

    @classmethod
    def posted(cls, query: QueryDict) -> MoneyForm:
        return cls(
            values={key: query.get(key, "")[:40].strip() for key in ("monthly_budget", "token_price", "shadow_share")}
        )

    def settings(self) -> dict[str, float | None]:
        found = {key: self._number(key) for key in self.values}
        share = found["shadow_share"]
        return found | {"shadow_share": 0.0 if share is None else share / 100}

    def _number(self, key: str) -> float | None:
        text = self.values[key]
        if not text:
            return None
        try:
            return float(ungrouped(text))
        except ValueError:
            self.problems[key] = "Write a number, such as 25 or 0.5."
            return None

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        for detail in details:
            key = str(detail["path"])
            words = "Write a share from 0 to 100." if key == "shadow_share" else sentence("It", detail)
            self.problems[key] = words


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"
