"""The graph of a search as rows of states and transitions. What rows do not show (texts of tools, bounds) stays as it was."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

MOST_STATES, MOST_TRANSITIONS = 40, 120  # a longer graph is edited as text
STATE_TEXTS = ("id", "goal", "value")
STEP_TEXTS = ("from_state", "tool", "to_state", "reward")
NUMBERS = ("value", "reward")
Document = dict[str, Any]
_PLACE = re.compile(r"(states|transitions)\[(\d+)\](?:\.(\w+))?")


def why_not(document: Any) -> str:
    """Why a document cannot be shown as rows; nothing where it can."""
    if not isinstance(document, dict) or "history" in document:
        return "Only a graph can be edited as rows: an object with root_state, states and transitions."
    lists = [document.get(key, []) for key in ("states", "transitions")]
    if not all(isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in lists):
        return "States and transitions must be lists of objects before they can be edited as rows."
    if any(not isinstance(row.get("tools", []), list) for row in lists[0]):
        return "The tools of a state must be a list before it can be edited as a row."
    if len(lists[0]) > MOST_STATES or len(lists[1]) > MOST_TRANSITIONS:
        return f"More than {MOST_STATES} states or {MOST_TRANSITIONS} transitions are edited as text."
    return ""


class GraphRows:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.general: list[str] = []
        self._problems: dict[tuple[str, int], dict[str, str]] = {}

    @classmethod
    def posted(cls, document: Document, given: Mapping[str, str]) -> GraphRows:
        """The document with what the rows' fields say. A state that is renamed takes along what leads to it."""
        after = copy.deepcopy(document)
        renamed = {}
        for at, state in enumerate(after.get("states", [])):
            before = state.get("id")
            _take(state, STATE_TEXTS, f"s{at}-", given)
            tools = _tools(state.get("tools", []), given.get(f"s{at}-tools", ""))
            if f"s{at}-tools" in given and (tools or "tools" in state):
                state["tools"] = tools
            if before != state.get("id"):
                renamed[before] = state.get("id")
        for at, step in enumerate(after.get("transitions", [])):
            _take(step, STEP_TEXTS, f"t{at}-", given)
            if f"t{at}-tool" in given:  # a box that is not ticked is not sent
                step["terminal"] = f"t{at}-terminal" in given
        if "root_state" in given:
            after["root_state"] = given["root_state"].strip()
        cls._follow(after, renamed)
        return cls(after)

    @staticmethod
    def _follow(document: Document, renamed: Mapping[Any, Any]) -> None:
        known = {state.get("id") for state in document.get("states", [])}
        gone = {before: after for before, after in renamed.items() if before not in known}
        document["root_state"] = gone.get(document.get("root_state"), document.get("root_state"))
        for step in document.get("transitions", []):
            for end in ("from_state", "to_state"):
                step[end] = gone.get(step.get(end), step.get(end))

    def change(self, wanted: str) -> None:
        """add-state, add-transition, drop-state-2, drop-transition-0; anything else changes nothing."""
        verb, _, rest = wanted.partition("-")
        noun, _, number = rest.partition("-")
        states, steps = self.document.setdefault("states", []), self.document.setdefault("transitions", [])
        rows = {"state": states, "transition": steps}.get(noun)
        if rows is None:
            return
        if verb == "add":
            most = MOST_STATES if rows is states else MOST_TRANSITIONS
            if len(rows) < most:
                goal = states[-1].get("goal", "") if states else ""
                rows.append(
                    {"id": "", "goal": goal} if rows is states else {"from_state": "", "tool": "", "to_state": ""}
                )
            else:
                self.general.append(f"More than {most} of them are edited as text.")
        elif number.isdecimal() and int(number) < len(rows):
            dropped = rows.pop(int(number))
            if rows is states and dropped.get("id"):
                ends = ("from_state", "to_state")
                steps[:] = [one for one in steps if all(one.get(end) != dropped["id"] for end in ends)]

    def refuse(self, problems: Sequence[Mapping[str, Any]]) -> None:
        """Put each problem beside its row's field; what is about none of them above all rows."""
        for problem in problems:
            path, said = str(problem.get("path", "")), str(problem["message"])
            found = _PLACE.match(path)
            if found is None:
                self.general.append(f"{path}: {said}" if path else said)
                continue
            list_, at, name = found[1], int(found[2]), found[3] or ""
            fields = (*STATE_TEXTS, "tools") if list_ == "states" else STEP_TEXTS
            row = self._problems.setdefault((list_, at), {})
            key = name if name in fields else fields[0]
            words = said if key == name else f"{name}: {said}" if name else said
            row[key] = f"{row[key]} {words}" if key in row else words

    # --- for the template ---------------------------------------------------------------------------------------------
    @property
    def root(self) -> Any:
        return self.document.get("root_state", "")

    @property
    def states(self) -> list[dict[str, Any]]:
        return [
            {
                "at": at,
                **{key: _shown(state.get(key)) for key in STATE_TEXTS},
                "tools": ", ".join(_name(tool) for tool in state.get("tools", [])),
                "problems": self._problems.get(("states", at), {}),
            }
            for at, state in enumerate(self.document.get("states", []))
        ]

    @property
    def transitions(self) -> list[dict[str, Any]]:
        return [
            {
                "at": at,
                **{key: _shown(step.get(key)) for key in STEP_TEXTS},
                "terminal": bool(step.get("terminal")),
                "problems": self._problems.get(("transitions", at), {}),
            }
            for at, step in enumerate(self.document.get("transitions", []))
        ]

    @property
    def ids(self) -> list[str]:
        return [str(state["id"]) for state in self.document.get("states", []) if state.get("id")]


def _take(row: Document, names: Sequence[str], prefix: str, given: Mapping[str, str]) -> None:
    for name in names:
        if f"{prefix}{name}" not in given:
            continue
        text = given[f"{prefix}{name}"].strip()
        if name in NUMBERS and not text:
            row.pop(name, None)
        elif text != _shown(row.get(name)):  # else its kind and spelling stay
            row[name] = _number(text) if name in NUMBERS else text


def _tools(known: Sequence[Any], text: str) -> list[Any]:
    """The tools of these names; those that are known keep all that is said of them."""
    by_name = {_name(tool): tool for tool in known}
    names = dict.fromkeys(name for name in re.split(r"[\s,]+", text) if name)
    return [by_name.get(name, {"name": name}) for name in names]


def _name(tool: Any) -> str:
    return str(tool.get("name", "")) if isinstance(tool, dict) else str(tool)


def _number(text: str) -> Any:
    """The number that a text says; what says none is handed on, to be refused in words."""
    try:
        return float(text)
    except ValueError:
        return text


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
