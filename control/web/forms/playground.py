"""What somebody types into the playground: a request in one of its forms, through which scope, and against what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from routing.engine import assemble
from routing.engine.models import HarnessState

LONGEST = 20_000  # of a field; a query over the cap of a resolve is answered as a harness would be
FORMS = (
    ("text", "Free text"),
    ("activity", "Goal, phase, activity"),
    ("route", "Route"),
    ("endpoint", "Model endpoint"),
)
TEXTS = ("q", "goal", "phase", "activity", "outcome", "inputs", "route_goal", "observation", "constraints")
MOST_AWAY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    form: str = "text"
    texts: Mapping[str, str]
    scope: str = "default"
    policy: str = "default"
    against: str = "draft"  # draft, the number of a revision, or nothing
    away: tuple[str, ...] = ()
    why: str = ""  # the candidate whose points are shown: side and name

    @classmethod
    def read(cls, query: QueryDict) -> Trial:
        form = query.get("form", "text")
        return cls(
            form=form if form in dict(FORMS) else "text",
            texts={name: str(query.get(name, ""))[:LONGEST].replace("\r\n", "\n") for name in TEXTS},
            scope=query.get("scope", "default")[:64],
            policy=query.get("policy", "default")[:64],
            against=query.get("against", "draft")[:10],
            away=tuple(dict.fromkeys(str(one)[:64] for one in query.getlist("offline")))[:MOST_AWAY],
            why=query.get("why", "")[:500],
        )

    @property
    def inputs(self) -> list[str]:
        return _parts(self.texts["inputs"])

    @property
    def text(self) -> str:
        """What is ranked."""
        if self.form == "text":
            return self.texts["q"].strip()
        if self.form == "activity":
            goal, phase, activity, outcome = (self.texts[key] for key in ("goal", "phase", "activity", "outcome"))
            return assemble(goal, phase, activity, outcome, self.inputs)
        return self.texts["route_goal"].strip()

    @property
    def state(self) -> HarnessState:
        return HarnessState(
            goal=self.texts["route_goal"].strip(),
            observation=self.texts["observation"].strip() or None,
            constraints=[line.strip() for line in self.texts["constraints"].splitlines() if line.strip()],
        )

    def asked(self) -> dict[str, Any]:
        """As the form of an expectation has it; an activity that is given in part as the text that was ranked."""
        if self.form == "activity" and all(self.texts[key].strip() for key in ("goal", "phase", "activity")):
            told = {key: self.texts[key].strip() for key in ("goal", "phase", "activity", "outcome")}
            return {"kind": "activity", **told, "input_kinds": "\n".join(self.inputs)}
        return {"kind": "query", "query": self.text}


def _parts(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]
