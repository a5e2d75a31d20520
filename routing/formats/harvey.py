"""Harvey's `routes.json`: `{enabled, endpoints: [{Name, URL, Model, Kind, Tools}]}`, its keys in any case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routing.engine.validation.problems import child, item
from routing.formats.entries import Endpoints, Unclear
from routing.formats.model_hosts import HOSTS
from routing.formats.renaming import suitable_names
from routing.formats.secrets import report_secrets, strip_url
from routing.formats.values import Converted, Report

_LOCAL = ("ollama", "llamafile", "llamacpp")
_KEYS = ("name", "url", "model", "kind", "tools")


def convert(content: Mapping[str, Any], report: Report) -> Converted:
    """Each route as a model endpoint. The file holds no keys: cloud kinds get a reference to their usual variable."""
    top = {str(key).lower(): value for key, value in content.items()}
    section = "endpoints" if "endpoints" in top else "routes"
    path = next((str(key) for key in content if str(key).lower() == section), section)
    listed = top.get(section)
    found = Endpoints(report)
    for key in content:
        if str(key).lower() not in ("enabled", section):
            report.warn(child("", str(key)), "not imported: it has no place here")
            report_secrets(content[key], child("", str(key)), report)
    if listed is None:
        listed = []
    if not isinstance(listed, list):
        report.problem(path, "must be a list of routes")
        return found.done()
    if top.get("enabled") is False:
        report.warn("enabled", "routing is off in this file: every endpoint is imported switched off")
    routes = [_lowered(route) for route in listed]
    names = suitable_names(dict.fromkeys(str(route["name"]) for route in routes if route and route.get("name")))
    seen: set[str] = set()
    for index, route in enumerate(routes):
        _take(found, route, item(path, index), names, seen, is_on=top.get("enabled") is not False)
    return found.done()


def _lowered(route: object) -> dict[str, Any] | None:
    """A route with its keys in lower case; None when it is none or says a key twice."""
    if not isinstance(route, Mapping):
        return None
    lowered = {str(key).lower(): value for key, value in route.items()}
    return lowered if len(lowered) == len(route) else None


def _take(
    found: Endpoints, route: dict[str, Any] | None, path: str, names: Mapping[str, str], seen: set[str], *, is_on: bool
) -> None:
    name = str(route["name"]) if route and route.get("name") else ""
    try:
        if route is None:
            raise Unclear("must be a mapping that gives each key once")
        if not name or not isinstance(route["name"], str):
            raise Unclear("must be text", ".Name")
        if name in seen:
            raise Unclear("another route has this name", ".Name")
        endpoint = _endpoint(names[name], route, path, found.report)
    except Unclear as reason:
        report_secrets(route, path, found.report)
        found.refuse(names.get(name, ""), path, reason)
        return
    seen.add(name)
    found.add(name, names[name], endpoint if is_on else {**endpoint, "enabled": False}, path)


def _endpoint(new: str, route: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    endpoint = _target(new, route, path, report)
    model = route.get("model")
    if model is not None and not isinstance(model, str):
        raise Unclear("must be text", ".Model")
    if route.get("tools"):
        report.warn(f"{path}.Tools", "not imported: that a model may call tools is said by its tool tier here")
    for key in route:
        if key not in _KEYS:
            report.warn(child(path, key), "not imported: it has no place here")
            report_secrets(route[key], child(path, key), report)
    return endpoint | ({"model": model} if model else {})


def _target(new: str, route: Mapping[str, Any], path: str, report: Report) -> dict[str, Any]:
    """Kind and address. The scheme says the kind; http and https are ollama unless the route says another kind."""
    url, said = route.get("url"), route.get("kind")
    if not isinstance(url, str) or "://" not in url:
        raise Unclear("must be an address with a scheme", ".URL")
    if said is not None and not isinstance(said, str):
        raise Unclear("must be text", ".Kind")
    scheme, _, rest = url.strip().partition("://")
    scheme, said = scheme.lower(), (said or "").lower()
    is_web = scheme in ("http", "https")
    kind = (said or "ollama") if is_web else scheme
    if kind not in HOSTS and kind not in _LOCAL:
        raise Unclear("is of no kind that is known", ".Kind" if is_web else ".URL")
    if not is_web and said not in ("", scheme):
        raise Unclear("the address and the kind say different things", ".Kind")
    return _public(kind, path, report) if not rest else _addressed(new, kind, scheme, rest, path, report)


def _public(kind: str, path: str, report: Report) -> dict[str, Any]:
    host = HOSTS.get(kind)
    if host is None:
        raise Unclear("must be an address with a host", ".URL")
    report.warn(f"{path}.URL", f"names the provider alone: its public address and {host.credential} are used")
    return {"kind": kind, "url": host.url, "credential": host.credential}


def _addressed(new: str, kind: str, scheme: str, rest: str, path: str, report: Report) -> dict[str, Any]:
    url, more = strip_url(f"{scheme if scheme == 'https' else 'http'}://{rest}", new, f"{path}.URL", report)
    if kind in HOSTS and not more:
        report.warn(f"{path}.URL", "has an address of its own and no credential: give one that is meant for it")
    return {"kind": kind, "url": url, **more}
