"""Our own document, as YAML or JSON: read whole, written so that people like to read it and nothing is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import yaml

from routing.engine.validation.visible import holds_hidden

SECTIONS = (
    "gateway", "groups", "providers", "endpoints", "capabilities", "scopes", "policies", "task_rules", "contracts", "expectations",
)  # fmt: skip
_FLOW_WIDTH = 88


def looks_native(content: Mapping[Any, Any]) -> bool:
    return "endpoints" in content or (
        "version" in content and not {"servers", "agents", "routes", "model_list"} & set(content)
    )


def write_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_yaml(document: Mapping[str, Any]) -> str:
    return dump(document, width=120)


def dump(value: Any, *, width: int) -> str:
    """A value as YAML, every character that can be seen kept as it is."""
    written = _dump(value, _Dumper, width)
    if not _ESCAPED.search(written):
        return written
    stand_ins = _stand_ins(json.dumps(value, ensure_ascii=False))
    dumper = type("_StandingIn", (_Dumper,), {"stand_ins": stand_ins})
    return _dump(value, dumper, width).translate({one: character for character, one in stand_ins.items()})


def _dump(value: Any, dumper: Any, width: int) -> str:
    written: str = yaml.dump(
        value, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=width, indent=2
    )
    return written


# The C dumper is ten times as quick as Python's, and escapes all that is beyond the basic plane, emoji among it. There
# each such character is written as one of the private area that the text does not hold, and put back afterwards.
_SafeDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_ESCAPED = re.compile(r"\\U00(?:0[1-9A-F]|10)[0-9A-F]{4}")
_PRIVATE = range(0xE000, 0xF900)


def _stand_ins(text: str) -> dict[int, int]:
    held = set(text)
    beyond = sorted(one for one in held if ord(one) > 0xFFFF and not holds_hidden(one))
    free = (code for code in _PRIVATE if chr(code) not in held)
    return {ord(one): code for one, code in zip(beyond, free, strict=False)}


class _Dumper(_SafeDumper):  # type: ignore[misc]  # the C dumper has no type of its own
    """Lists of a few words on one line, texts of several lines as blocks, no anchors."""

    stand_ins: ClassVar[Mapping[int, int]] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_list(self, data: list[Any]) -> yaml.SequenceNode:
        short = all(_is_plain(value) for value in data) and sum(len(str(value)) + 2 for value in data) <= _FLOW_WIDTH
        node: yaml.SequenceNode = self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=short)
        return node

    def represent_text(self, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data and _fits_a_block(data) else None
        node: yaml.ScalarNode = self.represent_scalar(
            "tag:yaml.org,2002:str", data.translate(self.stand_ins) if self.stand_ins else data, style=style
        )
        return node


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and "\n" not in value)


def _fits_a_block(text: str) -> bool:
    """Whether a block keeps the text to the letter: printable, no line that ends or starts in space."""
    lines = text.split("\n")
    return all(line == line.strip() and line.isprintable() for line in lines) and bool(lines[0])


_Dumper.add_representer(list, _Dumper.represent_list)
_Dumper.add_representer(tuple, _Dumper.represent_list)
_Dumper.add_representer(str, _Dumper.represent_text)
