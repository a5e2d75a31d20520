"""The full form of an endpoint: every field that operators write, read into the words of the registry document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from control.web.forms.endpoints import sentence
from routing.engine.validation.endpoints import FEATURES, KINDS, PROVENANCES, TOOL_TIERS

LONGEST = 65_536
TEXTS = ("title", "kind", "url", "description", "model", "data_zone", "tool_tier")
WHOLE = ("context_window", "effective_context", "priority")
FIGURES = ("cost_in", "cost_out")
KEPT = ("credential", "headers")  # never shown filled in: entered anew, or left as they are


@dataclass(slots=True, kw_only=True)
class EndpointForm:
    """What was typed, as text, and what is wrong with it. `before` is the endpoint that is edited; None for a new one."""

    values: dict[str, str]
    before: Mapping[str, Any] | None = None
    read: str = ""
    problems: dict[str, list[str]] = field(default_factory=dict)
    general: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, body: Mapping[str, Any] | None, *, read: str = "", is_new: bool = False) -> EndpointForm:
        body = body or {}
        values = {key: str(body.get(key, "")) for key in ("name", *TEXTS, *WHOLE, *FIGURES)}
        values["kind"] = values["kind"] or "mcp"
        values["tags"] = ", ".join(body.get("tags", ()))
        values["capabilities"] = "\n".join(_capability_line(one) for one in body.get("capabilities", ()))
        for name in FEATURES:
            values[f"feature-{name}"] = {True: "yes", False: "no"}.get(body.get("features", {}).get(name), "")
        return cls(values=values, before=None if is_new else body, read=read)

    @classmethod
    def posted(cls, query: QueryDict, before: Mapping[str, Any] | None) -> EndpointForm:
        names = (
            "name",
            *TEXTS,
            *WHOLE,
            *FIGURES,
            *KEPT,
            "tags",
            "capabilities",
            *(f"feature-{one}" for one in FEATURES),
        )
        values = {name: query.get(name, "")[:LONGEST].replace("\r\n", "\n").strip() for name in names}
        values |= {f"drop-{name}": "on" if query.get(f"drop-{name}") else "" for name in KEPT}
        return cls(values=values, before=before, read=query.get("read", "")[:64])

    def body(self) -> dict[str, Any]:
        """The fields as the document has them; what is no number is said beside its field, and None means left out."""
        found: dict[str, Any] = {key: self.values[key] or None for key in TEXTS}
        found |= {key: self._number(key, int) for key in WHOLE} | {key: self._number(key, float) for key in FIGURES}
        found["tags"] = (
            list(dict.fromkeys(tag for part in self.values["tags"].split(",") if (tag := part.strip()))) or None
        )
        found["capabilities"] = self._capabilities() or None
        features = {one: self.values[f"feature-{one}"] == "yes" for one in FEATURES if self.values[f"feature-{one}"]}
        found["features"] = features or None
        return found | self._kept()

    def changes(self) -> dict[str, Any]:
        """Fields that say something else than `before`."""
        before = self.before or {}
        return {
            key: value
            for key, value in self.body().items()
            if key in KEPT or (value or None) != (before.get(key) or None)
        }

    def _kept(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in KEPT:
            if self.values[f"drop-{name}"]:
                found[name] = None
            elif self.values[name]:
                found[name] = self.values[name] if name == "credential" else self._headers()
        return found

    def _headers(self) -> dict[str, str]:
        lines = [line for line in self.values["headers"].split("\n") if line.strip()]
        if any(":" not in line for line in lines):
            self.say("headers", "Write one header on each line: its name, a colon, its value.")
        return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def _capabilities(self) -> list[Any]:
        found: list[Any] = []
        for line in self.values["capabilities"].split("\n"):
            words = line.split()
            if not words:
                continue
            one: dict[str, Any] = {"name": words[0]}
            for word in words[1:]:
                if word in PROVENANCES:
                    one["provenance"] = word
                    continue
                try:
                    one["level"] = float(word)
                except ValueError:
                    self.say(
                        "capabilities", f"“{word[:40]}” is neither a level from 0 to 1 nor {', '.join(PROVENANCES)}."
                    )
            found.append(one if len(one) > 1 else one["name"])
        return found

    def _number(self, key: str, kind: type[int] | type[float]) -> Any:
        text = self.values[key]
        if not text:
            return None
        try:
            return kind(text.replace(",", ""))
        except ValueError:
            self.say(key, "Write a whole number." if kind is int else "Write a number, such as 0.5.")
            return None

    def say(self, key: str, words: str) -> None:
        self.problems.setdefault(key, []).append(words)

    def refuse(self, details: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside the field that it is about."""
        for detail in details:
            head = str(detail.get("path", "")).split(".")[0].split("[")[0]
            if head in {*self.values, *KEPT}:
                self.say(head, sentence("It", detail))
            else:
                self.general.append(sentence(str(detail.get("path", "")) or "This", detail))

    @property
    def fields(self) -> list[dict[str, Any]]:
        """For the template: groups of fields with what is to be said about each."""
        return [
            {"title": title, "fields": [self._field(*spec) for spec in specs if self._asks(spec[0])]}
            for title, specs in _GROUPS
        ]

    def _asks(self, key: str) -> bool:
        return key != "name" or self.before is None

    def _field(self, key: str, label: str, shape: str, help_text: str, options: Sequence[str] = ()) -> dict[str, Any]:
        held = (self.before or {}).get(key) if key in KEPT else None
        kept = (held if isinstance(held, str) else ", ".join(held)) if held else ""
        return {
            "key": key,
            "label": label,
            "shape": shape,
            "help": help_text,
            "options": options,
            "value": self.values.get(key, ""),
            "problems": self.problems.get(key, []),
            "kept": kept,
        }


def _capability_line(one: Any) -> str:
    if isinstance(one, str):
        return one
    return " ".join(str(one[key]) for key in ("name", "level", "provenance") if key in one)


_GROUPS: tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...] = (
    (
        "What it is",
        (
            (
                "name",
                "Name",
                "mono",
                "1 to 64 of a-z, 0-9, - _ and a dot, without __. It is part of every tool's name.",
            ),
            (
                "kind",
                "Kind",
                "select",
                "mcp: a server of tools. declared: tools that are never contacted. Others: models.",
                KINDS,
            ),
            ("title", "Title", "text", ""),
            ("description", "Description", "area", ""),
            ("tags", "Tags", "text", "Words with commas between them."),
            (
                "capabilities",
                "Capabilities",
                "lines",
                "One on each line: the word, its level from 0 to 1, and declared, probed or measured.",
            ),
        ),
    ),
    (
        "Where it is",
        (
            (
                "url",
                "URL",
                "mono",
                "http or https. When scheme, host, port or the first part of the path change, the credential is entered again.",
            ),
            ("credential", "Credential reference", "mono", "env:NAME or vault:NAME, never the secret itself."),
            ("headers", "Headers", "lines", "One on each line, name: value. A secret is a reference here too."),
        ),
    ),
    (
        "Model",
        (
            ("model", "Model", "mono", "For kinds that are models."),
            ("context_window", "Context window", "number", "Tokens."),
            ("effective_context", "Effective context", "number", "Tokens that it uses well; the window when empty."),
            ("tool_tier", "Tool tier", "select", "How it calls tools.", ("", *TOOL_TIERS)),
            ("cost_in", "Cost of input", "number", "For a million tokens."),
            ("cost_out", "Cost of output", "number", "For a million tokens."),
            ("priority", "Priority", "number", "Lower goes first; 100 when empty."),
            ("data_zone", "Data zone", "text", ""),
            *((f"feature-{one}", one.replace("_", " ").capitalize(), "known", "") for one in FEATURES),
        ),
    ),
)
