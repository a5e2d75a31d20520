"""The one door: any content in, one report out."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from routing.engine.errors import RegistryError
from routing.engine.registry import Gateway
from routing.engine.secrets import REFERENCE_FORMS
from routing.engine.validation import parse_document, to_document
from routing.engine.validation.reader import kind_of
from routing.formats import harvey, litellm, mcp_json, mcphub
from routing.formats.native import looks_native
from routing.formats.secrets import environment_name
from routing.formats.text import load
from routing.formats.tools_list import ONLY, add_tools, read_tools
from routing.formats.values import Converted, Detail, Import, Report, Unreadable

FORMATS = ("switchyard", "mcphub", "mcp-json", "harvey-routes", "litellm")
_KINDS = {
    "endpoints": "endpoint", "scopes": "scope", "capabilities": "capability", "policies": "policy", "providers": "provider",
    "expectations": "expectation",
}  # fmt: skip


def read(
    content: str | bytes | Mapping[str, Any],
    format: str = "auto",
    filename: str | None = None,
    tools: str | bytes | Mapping[str, Any] | None = None,
) -> Import:
    """Read a configuration. `tools` may hold answers of tools/list for the servers it names."""
    report = Report()
    try:
        values = content if isinstance(content, Mapping) else load(content, filename=filename)
    except Unreadable as error:
        report.problem("", f"the file {error}" if filename else f"the content {error}")
        return _unread(format, report)
    if _is_list_of_models(values):
        values = {"model_list": values}
    if not isinstance(values, Mapping):
        report.problem("", "is empty" if values is None else f"must be a mapping, not {kind_of(values)}")
        return _unread(format, report)
    chosen = detect(values, filename) if format == "auto" else format
    if chosen is None:
        report.problem("", "no known format was recognised", allowed=list(FORMATS))
        return _unread(format, report)
    if chosen not in FORMATS:
        report.problem("", "is no known format", allowed=list(FORMATS))
        return _unread(chosen, report)
    listed = read_tools(tools, report) if tools is not None else {}
    if chosen == "switchyard":
        return _read_native(values, listed, report)
    return _read_mcphub(values, listed, report) if chosen == "mcphub" else _read_foreign(chosen, values, listed, report)


_READERS: dict[str, Callable[[Mapping[str, Any], Report], Converted]] = {
    "mcp-json": mcp_json.convert,
    "harvey-routes": harvey.convert,
    "litellm": litellm.convert,
}


def _read_foreign(format: str, values: Mapping[str, Any], listed: Mapping[str, list[Any]], report: Report) -> Import:
    found = _READERS[format](values, report)
    add_tools(found.document, listed, found.renamed, report)
    return _finish(format, found.document, found.renamed, found.sources, report)


def _is_list_of_models(values: object) -> bool:
    return isinstance(values, list) and any(isinstance(one, Mapping) and "litellm_params" in one for one in values)


def detect(values: Mapping[Any, Any], filename: str | None = None) -> str | None:
    """The format of a mapping by its keys, and where these leave a doubt by the file's name."""
    base = posixpath.basename((filename or "").replace("\\", "/")).lower()
    if "model_list" in values:
        return "litellm"
    if any(isinstance(values.get(key), Mapping) for key in ("mcpServers", "mcp_servers", "mcp")):
        return "mcp-json"
    if "endpoints" not in values and ("routes" in values or base == "routes.json"):
        return "harvey-routes"
    if "servers" in values and base == "mcp.json":
        return "mcp-json"
    if "endpoints" in values and base == "routes.json" and "version" not in values:
        return "harvey-routes"
    if _is_harveys(values):
        return "harvey-routes"
    if "servers" in values or base.startswith("mcphub."):
        return "mcphub" if mcphub.looks_like_mcphub(values, named_so=base.startswith("mcphub.")) else "mcp-json"
    if looks_native(values):
        return "switchyard"
    return "mcphub" if values and set(values) <= set(mcphub.TOP_KEYS) else None


def _is_harveys(values: Mapping[Any, Any]) -> bool:
    """`{enabled, endpoints}` alone, with capitalised keys in its entries; ours says its version."""
    if not {str(key).lower() for key in values} <= {"enabled", "endpoints"}:
        return False
    listed = next((value for key, value in values.items() if str(key).lower() == "endpoints"), None)
    first = listed[0] if isinstance(listed, list) and listed else None
    return isinstance(first, Mapping) and ("Name" in first or "URL" in first)


def _unread(format: str, report: Report) -> Import:
    return Import(format=format, problems=tuple(report.problems), warnings=tuple(report.warnings))


def _read_native(values: Mapping[str, Any], listed: Mapping[str, list[Any]], report: Report) -> Import:
    document = dict(values)
    if listed and isinstance(document.get("endpoints"), list):
        document["endpoints"] = [dict(one) if isinstance(one, Mapping) else one for one in document["endpoints"]]
    listing = document.get("endpoints")
    listing = listing if isinstance(listing, list) else []  # anything else is told when it is validated
    names = [one.get("name") for one in listing if isinstance(one, Mapping)]
    add_tools(document, listed, {name: name for name in names if isinstance(name, str)}, report)
    return _finish("switchyard", document, {}, {}, report)


def _read_mcphub(values: Mapping[str, Any], listed: Mapping[str, list[Any]], report: Report) -> Import:
    servers = values.get("servers")
    if ONLY in listed and isinstance(servers, Mapping) and len(servers) == 1:
        listed = {str(next(iter(servers))): listed[ONLY]}
    document, renamed, sources = mcphub.convert(values, listed, report)
    add_tools(document, listed, renamed, report)
    return _finish("mcphub", document, renamed, sources, report)


def _finish(
    format: str, document: dict[str, Any], renamed: Mapping[str, str], sources: Mapping[str, str], report: Report
) -> Import:
    """Validate what was read and sum up. Paths point into the file as it was given."""
    stated: dict[str, Any] = {}
    try:
        parsed = parse_document(document)
        stated = _stated(document.get("gateway"), parsed.registry.gateway)
        document = to_document(parsed.registry)
        report.warnings += [{**warning, "path": _source(warning["path"], sources)} for warning in parsed.warnings]
    except RegistryError as error:
        for problem in error.problems:
            report.problems.append({**problem, "path": _source(problem["path"], sources)})
            if REFERENCE_FORMS in str(problem.get("allowed", "")):
                report.secret(_source(problem["path"], sources), _suggested(problem["path"], document))
    entries = _entries(document, {new: old for old, new in renamed.items() if old != new}, sources, report)
    return Import(
        format=format,
        document=_without_secrets(document, report),
        entries=tuple(entries),
        warnings=tuple(report.warnings),
        secrets=tuple(report.secrets),
        problems=tuple(report.problems),
        launches=tuple(report.launches),
        gateway=stated,
        assumed=mcphub.ASSUMED if format == "mcphub" else {},
    )


def _stated(given: object, gateway: Gateway) -> dict[str, Any]:
    """What the file says of the gateway, in our spelling."""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(gateway).items()}
    return {key: plain[key] for key in plain if isinstance(given, Mapping) and key in given}


def _without_secrets(document: dict[str, Any], report: Report) -> dict[str, Any] | None:
    """A document with problems may hold literal secrets: it is not handed on."""
    return None if report.problems else document


_ENTRY = re.compile(r"[a-z_]+\[\d+\]|groups\.[^.\[]+")


def _source(path: str, sources: Mapping[str, str]) -> str:
    """The path in the file as it was given."""
    entry = _ENTRY.match(path)
    theirs = sources.get(entry[0]) if entry else None
    return path if entry is None or theirs is None else theirs + path[entry.end() :]


def _suggested(path: str, document: Mapping[str, Any]) -> str:
    """A variable's name for a secret: that of its endpoint or provider and of its field."""
    found = re.match(r"(endpoints|providers)\[(\d+)\]", path)
    owner = document[found[1]][int(found[2])].get("name", "") if found else ""
    field = "TOKEN" if path.endswith((".credential", ".url")) else re.split(r"[.\[]", path)[-1]
    return f"env:{environment_name(f'{owner}_{field}')}"


def _entries(
    document: Mapping[str, Any], renamed: Mapping[str, str], sources: Mapping[str, str], report: Report
) -> list[Detail]:
    """Every entry with its own problems; after them those that stay out."""
    placed = _placed(document, sources)
    own: dict[str, list[Detail]] = defaultdict(list)
    for problem in report.problems:
        own[_owner(problem["path"], placed)].append(problem)
    entries = [
        _entry(kind, name, renamed if kind == "endpoint" else {}, own[path]) for path, (kind, name) in placed.items()
    ]
    return entries + report.refused


def _placed(document: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, tuple[str, object]]:
    """Path in the file -> kind and name of the entry there."""
    placed: dict[str, tuple[str, object]] = {}
    for section, kind in _KINDS.items():
        values = document.get(section)
        for index, value in enumerate(values if isinstance(values, list) else ()):
            name = value.get("name") if isinstance(value, Mapping) else None
            placed[_source(f"{section}[{index}]", sources)] = (kind, name)
    groups = document.get("groups")
    for group in groups if isinstance(groups, Mapping) else ():
        placed[_source(f"groups.{group}", sources)] = ("group", group)
    return placed


def _owner(path: str, placed: Mapping[str, object]) -> str:
    """The path of the entry that a path lies in: its shortest beginning that is one."""
    ends = (found.start() for found in re.finditer(r"[.\[]", path))
    return next((path[:end] for end in ends if path[:end] in placed), path if path in placed else "")


def _entry(kind: str, name: object, renamed: Mapping[str, str], own: list[Detail]) -> Detail:
    shown = name[:64] if isinstance(name, str) else ""
    action = "refused" if own else "renamed" if shown in renamed else "added"
    return {"kind": kind, "name": shown, "action": action, "problems": own}
