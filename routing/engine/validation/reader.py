"""Reading one mapping of the document: each field by its type, every breach noted, unknown keys too.

A reader answers the default when a value is wrong, so that reading goes on and all problems are found in one pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from routing.engine.validation.problems import Problems, child, item
from routing.engine.validation.visible import fault_of_line, is_blank

MAX_DEPTH = 64
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_MISSING = object()
T = TypeVar("T")
Read = Callable[[object, str, Problems], T | None]


class Reader:
    def __init__(self, value: object, path: str, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._asked: list[str] = []
        problems.spend(path)
        self.readable = isinstance(value, Mapping)
        self.fields: Mapping[Any, Any] = value if isinstance(value, Mapping) else {}
        if not self.readable:
            problems.add(path, f"must be a mapping, not {kind_of(value)}", value=value)

    def at(self, key: str) -> str:
        return child(self.path, key)

    def given(self, key: str) -> bool:
        return self._asks(key) is not _MISSING

    def raw(self, key: str, default: object = None) -> Any:
        value = self._asks(key)
        return default if value is _MISSING else value

    def wrong(
        self, key: str, message: str, *, value: object = None, allowed: object = None, secret: bool = False
    ) -> None:
        self.problems.add(self.at(key), message, value=value, allowed=allowed, secret=secret)

    def close(self) -> None:
        """Every key that was not asked for is a problem; call it after the last field."""
        known = dict.fromkeys(self._asked)
        for key in self.fields:
            if key not in known:
                # The value is not shown: a misspelt `credential` holds what must not be repeated.
                self.problems.add(child(self.path, key), "unknown key", allowed=list(known))

    # One method for each type of field.

    def text(
        self,
        key: str,
        default: str | None = None,
        *,
        required: bool = False,
        longest: int | None = None,
        lines: bool = True,
    ) -> str | None:
        """Text or `default`; null is allowed where the default is null. `lines` permits line breaks and tabs."""
        value = self._value(key, default, required)
        return (
            default
            if value is _MISSING
            else self._checked(key, text(value, self.at(key), self.problems, longest=longest, lines=lines), default)
        )

    def words(self, key: str, default: str = "") -> str:
        """Free text that is empty when absent."""
        return self.text(key, default) or ""

    def name(self, key: str, default: str | None = None, *, required: bool = False) -> str | None:
        value = self._value(key, default, required)
        return default if value is _MISSING else self._checked(key, name(value, self.at(key), self.problems), default)

    def choice(
        self, key: str, allowed: Sequence[str], default: str | None = None, *, required: bool = False
    ) -> str | None:
        value = self._value(key, default, required, allowed=list(allowed))
        return (
            default
            if value is _MISSING
            else self._checked(key, choice(value, allowed, self.at(key), self.problems), default)
        )

    def flag(self, key: str, default: bool) -> bool:
        value = self._value(key, default)
        if value is _MISSING:
            return default
        if isinstance(value, bool):
            return value
        self.wrong(key, f"must be true or false, not {kind_of(value)}", value=value, allowed=[True, False])
        return default

    def integer(
        self, key: str, default: int | None = None, *, low: int | None = None, high: int | None = None
    ) -> int | None:
        value = self._value(key, default)
        return (
            default
            if value is _MISSING
            else self._checked(key, integer(value, self.at(key), self.problems, low=low, high=high), default)
        )

    def number(
        self,
        key: str,
        default: float | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
    ) -> float | None:
        value = self._value(key, default)
        if value is _MISSING:
            return default
        return self._checked(key, number(value, self.at(key), self.problems, low=low, high=high, above=above), default)

    def items(
        self, key: str, read: Read[T], default: tuple[T, ...] | None = (), *, most: int | None = None
    ) -> tuple[T, ...] | None:
        """A list whose items are read one by one; those that are wrong are left out after being noted."""
        value = self._value(key, default)
        if value is _MISSING:
            return default
        return items(value, self.at(key), self.problems, read, most=most)

    def listed(self, key: str, read: Read[T], *, most: int | None = None) -> tuple[T, ...]:
        return self.items(key, read, (), most=most) or ()

    def texts(self, key: str) -> tuple[str, ...]:
        return self.listed(key, short_text)

    def pairs(self, key: str, *, most: int | None = None) -> list[tuple[str, object, str]]:
        """Key, value and path of each entry of a mapping with text keys."""
        value = self._value(key, {})
        if value is _MISSING:
            return []
        return pairs(value, self.at(key), self.problems, most=most)

    def mapping(self, key: str, read: Read[T], *, most: int | None = None) -> dict[str, T]:
        """A mapping with text keys whose values are read one by one."""
        found = ((name_, read(content, place, self.problems)) for name_, content, place in self.pairs(key, most=most))
        return {name_: answer for name_, answer in found if answer is not None}

    def json_object(self, key: str, default: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        value = self._value(key, default)
        if value is _MISSING:
            return default
        if isinstance(value, Mapping):
            return cast(dict[str, Any], json_value(value, self.at(key), self.problems))
        self.wrong(key, f"must be a mapping, not {kind_of(value)}", value=value)
        return default

    # How a key is looked up.

    def _asks(self, key: str) -> object:
        self._asked.append(key)
        return self.fields.get(key, _MISSING)

    def _value(self, key: str, default: object, required: bool = False, *, allowed: object = None) -> object:
        value = self._asks(key)
        if value is _MISSING and required and self.readable:
            self.wrong(key, "is required", allowed=allowed)
        if value is None and default is None and not required:
            return _MISSING
        return value

    def _checked(self, key: str, answer: T | None, default: T | None) -> T | None:
        return default if answer is None else answer


def pairs(value: object, path: str, problems: Problems, *, most: int | None = None) -> list[tuple[str, object, str]]:
    if not isinstance(value, Mapping):
        problems.add(path, f"must be a mapping, not {kind_of(value)}", value=value)
        return []
    if most is not None and len(value) > most:
        problems.add(path, f"must hold at most {most} keys, not {len(value)}")
    problems.spend(path, len(value))
    placed = [(key, content, child(path, key)) for key, content in value.items()]
    return [(key, content, place) for key, content, place in placed if text(key, place, problems) is not None]


def items(value: object, path: str, problems: Problems, read: Read[T], *, most: int | None = None) -> tuple[T, ...]:
    if not isinstance(value, (list, tuple)):
        problems.add(path, f"must be a list, not {kind_of(value)}", value=value)
        return ()
    if most is not None and len(value) > most:
        problems.add(path, f"must hold at most {most} items, not {len(value)}")
    problems.spend(path, len(value))
    found = (read(content, item(path, index), problems) for index, content in enumerate(value))
    return tuple(answer for answer in found if answer is not None)


def text(value: object, path: str, problems: Problems, *, longest: int | None = None, lines: bool = True) -> str | None:
    if not isinstance(value, str):
        problems.add(path, f"must be text, not {kind_of(value)}", value=value)
    elif _UNSTORABLE.search(value):
        problems.add(path, "must be valid Unicode without NUL characters")
    elif not lines and (fault := fault_of_line(value)):
        problems.add(path, f"must not hold {fault}", value=value)
    elif longest is not None and len(value) > longest:
        problems.add(path, f"must be at most {longest} characters, not {len(value)}", value=value)
    else:
        return value
    return None


def short_text(value: object, path: str, problems: Problems) -> str | None:
    """A tag, synonym or the like: one line, not blank."""
    answer = text(value, path, problems, longest=256, lines=False)
    if answer is not None and is_blank(answer):
        problems.add(path, "must not be blank", value=value)
        return None
    return answer


NAME_RULE = "1-64 of a-z 0-9 . _ -, starting with a letter or digit, no double underscore, not ending in an underscore"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TAKEN = frozenset({"switchyard", "mcphub"})


def name(value: object, path: str, problems: Problems) -> str | None:
    if not isinstance(value, str):
        problems.add(path, f"must be a name, not {kind_of(value)}", value=value, allowed=NAME_RULE)
    elif value in _TAKEN:
        problems.add(path, "this name is reserved", value=value)
    elif not is_name(value):
        problems.add(path, "is no valid name", value=value, allowed=NAME_RULE)
    else:
        return value
    return None


def is_name(value: str) -> bool:
    return bool(_NAME.fullmatch(value)) and "__" not in value and not value.endswith("_") and value not in _TAKEN


def choice(value: object, allowed: Sequence[str], path: str, problems: Problems) -> str | None:
    if isinstance(value, str) and value in allowed:
        return value
    problems.add(path, f"must be one of {', '.join(allowed)}", value=value, allowed=list(allowed))
    return None


def integer(
    value: object, path: str, problems: Problems, *, low: int | None = None, high: int | None = None
) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        problems.add(path, f"must be a whole number, not {kind_of(value)}", value=value, allowed=bounds(low, high))
        return None
    return _bounded(value, path, problems, low, high, None)


def number(
    value: object,
    path: str,
    problems: Problems,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        problems.add(path, f"must be a number, not {kind_of(value)}", value=value, allowed=bounds(low, high, above))
        return None
    if isinstance(value, float) and not math.isfinite(value):
        problems.add(path, "must be a finite number", value=value, allowed=bounds(low, high, above))
        return None
    # 5.0 and 5 are the same setting and must give the same digest.
    plain = int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
    return _bounded(plain, path, problems, low, high, above)


N = TypeVar("N", int, float)


def _bounded(
    value: N, path: str, problems: Problems, low: float | None, high: float | None, above: float | None
) -> N | None:
    too_low = (low is not None and value < low) or (above is not None and value <= above)
    if too_low or (high is not None and value > high) or abs(value) >= 2**63:
        problems.add(
            path, f"must be {bounds(low, high, above) or 'smaller'}", value=value, allowed=bounds(low, high, above)
        )
        return None
    return value


def bounds(low: float | None = None, high: float | None = None, above: float | None = None) -> str | None:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if above is not None:
        return f"greater than {above}" + (f", at most {high}" if high is not None else "")
    if low is not None:
        return f"{low} or more"
    return f"at most {high}" if high is not None else None


def json_value(value: object, path: str, problems: Problems, depth: int = 0) -> Any:
    """A copy of a JSON value that nobody else holds; what JSON cannot say is noted and becomes null."""
    problems.spend(path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value, path, problems)
    if isinstance(value, (int, float)):
        return _json_number(value, path, problems)
    if isinstance(value, (Mapping, list, tuple)):
        if depth < MAX_DEPTH:
            return _json_container(value, path, problems, depth + 1)
        problems.add(path, f"is nested more than {MAX_DEPTH} levels deep")
    else:
        problems.add(path, f"must be a JSON value, not {kind_of(value)}")
    return None


def _json_number(value: int | float, path: str, problems: Problems) -> int | float | None:
    """The one spelling of a number, which survives stores that write 1e16 as a whole number or 1 as 1.0."""
    try:
        if math.isfinite(value):
            whole = int(value) == value and -(2**63) <= value < 2**64
            return int(value) if whole else float(value)
    except OverflowError:
        pass
    problems.add(path, "must be a finite number that fits 64 bits", value=value)
    return None


def _json_container(
    value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], path: str, problems: Problems, depth: int
) -> Any:
    if not isinstance(value, Mapping):
        return [json_value(content, item(path, index), problems, depth) for index, content in enumerate(value)]
    found = {}
    for key, content in value.items():
        place = child(path, key)
        if text(key, place, problems) is not None:
            found[key] = json_value(content, place, problems, depth)
    return found


def kind_of(value: object) -> str:
    """A value's type in the words of the document."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "a whole number"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return type(value).__name__
