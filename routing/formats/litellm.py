"""LiteLLM's `model_list`: each deployment as a model endpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from routing.engine.validation.problems import child, item
from routing.formats.entries import Endpoints, Unclear
from routing.formats.model_hosts import HOSTS
from routing.formats.renaming import suitable_names
from routing.formats.secrets import reference_for, report_secrets, strip_url
from routing.formats.values import Converted, Report

# Its names of providers whose wire format is that of one of our kinds. `None`: the address has to be given.
_PROVIDERS: dict[str, tuple[str, str | None]] = {
    **{kind: (kind, host.url) for kind, host in HOSTS.items()},
    "ollama": ("ollama", "http://localhost:11434"), "ollama_chat": ("ollama", "http://localhost:11434"),
    "llamafile": ("llamafile", None), "hosted_vllm": ("openai", None), "lm_studio": ("openai", None), "litellm_proxy": ("openai", None),
}  # fmt: skip
_CHAT = ("chat", "completion", "responses")
_FEATURES = {
    "supports_vision": "vision", "supports_response_schema": "json_schema", "supports_parallel_function_calling": "parallel_tools",
    "supports_native_streaming": "streaming",
}  # fmt: skip
_PARAMS = {
    "model",
    "custom_llm_provider",
    "api_base",
    "api_key",
    "max_parallel_requests",
    "input_cost_per_token",
    "output_cost_per_token",
}
_INFO = {
    "id",
    "mode",
    "max_input_tokens",
    "supports_function_calling",
    "input_cost_per_token",
    "output_cost_per_token",
    *_FEATURES,
}


def convert(content: Mapping[str, Any], report: Report) -> Converted:
    found = Endpoints(report)
    for key in content:
        if key != "model_list":
            report.warn(child("", str(key)), "not imported: only the list of models is")
            report_secrets(content[key], child("", str(key)), report)
    listed = content.get("model_list")
    if not isinstance(listed, list):
        if listed is not None:
            report.problem("model_list", "must be a list of models")
        return found.done()
    olds = _told_apart(listed)
    renamed = suitable_names(olds.values())
    for index, deployment in enumerate(listed):
        _take(found, deployment, item("model_list", index), olds.get(index, ""), renamed)
    return found.done()


def _told_apart(listed: list[Any]) -> dict[int, str]:
    """A name for each deployment by its place: those of one model are numbered, since ours are unique."""
    names: dict[int, str] = {}
    taken = {
        str(one["model_name"]) for one in listed if isinstance(one, Mapping) and isinstance(one.get("model_name"), str)
    }
    seen: dict[str, int] = {}
    for index, one in enumerate(listed):
        if not isinstance(one, Mapping) or not isinstance(one.get("model_name"), str):
            continue
        name = one["model_name"]
        number = seen.get(name, 0) + 1
        while number > 1 and f"{name}-{number}" in taken:
            number += 1
        seen[name] = number
        names[index] = name if number == 1 else f"{name}-{number}"
        taken.add(names[index])
    return names


def _take(found: Endpoints, deployment: object, path: str, old: str, renamed: Mapping[str, str]) -> None:
    try:
        endpoint = _endpoint(renamed.get(old, ""), deployment, path, found.report)
    except Unclear as reason:
        report_secrets(deployment, path, found.report)
        found.refuse(renamed.get(old, ""), path, reason)
        return
    if isinstance(deployment, Mapping) and deployment["model_name"] != old:
        found.report.warn(path, f"another deployment of {deployment['model_name'][:64]}; it is {renamed[old]} here")
    found.add(old, renamed[old], endpoint, path)


def _endpoint(new: str, deployment: object, path: str, report: Report) -> dict[str, Any]:
    if not isinstance(deployment, Mapping):
        raise Unclear("must be a mapping")
    name, params, info = (
        deployment.get("model_name"),
        deployment.get("litellm_params"),
        deployment.get("model_info") or {},
    )
    if not isinstance(name, str) or not name.strip():
        raise Unclear("must be text", ".model_name")
    if not isinstance(params, Mapping):
        raise Unclear("must be a mapping", ".litellm_params")
    if not isinstance(info, Mapping):
        raise Unclear("must be a mapping", ".model_info")
    provider, model = _model(params)
    if "*" in name or "*" in model:
        raise Unclear("stands for many models; name each of them", ".model_name")
    kind, usual = _kind(provider)
    features = _features(info)
    endpoint = {"kind": kind, **_target(new, kind, usual, params, f"{path}.litellm_params", report), "model": model}
    endpoint |= _sizes(params, info) | ({"features": features} if features else {})
    if info.get("supports_function_calling") is True:
        endpoint["tool_tier"] = "structured"
    _warn_unread(deployment, params, info, path, report)
    return endpoint


def _model(params: Mapping[str, Any]) -> tuple[str, str]:
    model, said = params.get("model"), params.get("custom_llm_provider")
    if not isinstance(model, str) or not model:
        raise Unclear("must be text", ".litellm_params.model")
    if said is not None:
        if not isinstance(said, str):
            raise Unclear("must be text", ".litellm_params.custom_llm_provider")
        return said, model.removeprefix(f"{said}/")
    provider, slash, rest = model.partition("/")
    if not slash or not rest:
        raise Unclear(
            "does not say its provider; write it before the model, as in openai/NAME", ".litellm_params.model"
        )
    return provider, rest


def _kind(provider: str) -> tuple[str, str | None]:
    known = _PROVIDERS.get(provider)
    if known is None:
        raise Unclear("is of a provider that has no kind here", ".litellm_params.model")
    return known


def _target(
    new: str, kind: str, usual: str | None, params: Mapping[str, Any], path: str, report: Report
) -> dict[str, Any]:
    """Address and credential. A provider's usual key is only ever sent to the provider's own address."""
    base, key = params.get("api_base"), params.get("api_key")
    if base is not None and not isinstance(base, str):
        raise Unclear("must be text", ".litellm_params.api_base")
    if base and base.startswith("os.environ/"):
        raise Unclear("is taken from a variable; write the address out", ".litellm_params.api_base")
    if not base and usual is None:
        raise Unclear("is needed for this provider", ".litellm_params.api_base")
    url, more = strip_url((base or usual or "").strip(), new, f"{path}.api_base", report)
    if not base:
        report.warn(path, f"gives no address: {url} is used, as there")
    if key is not None and not isinstance(key, str):
        raise Unclear("must be text", ".litellm_params.api_key")
    if key:
        more["credential"] = reference_for(key.strip(), f"{new}_API_KEY", f"{path}.api_key", report)
    elif not base and kind in HOSTS:
        more["credential"] = HOSTS[kind].credential
        report.warn(path, f"gives no key: {HOSTS[kind].credential} is used, as there")
    return {"url": url, **more}


def _features(info: Mapping[str, Any]) -> dict[str, bool]:
    mode = info.get("mode")
    if mode not in (None, "embedding", *_CHAT):
        raise Unclear("is of a mode that has no place here", ".model_info.mode")
    found = {ours: info[theirs] for theirs, ours in _FEATURES.items() if isinstance(info.get(theirs), bool)}
    return found | ({"embeddings": True} if mode == "embedding" else {})


def _sizes(params: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    window, most = info.get("max_input_tokens"), params.get("max_parallel_requests")
    if window is not None:
        found["context_window"] = window
    if most is not None:
        found["max_concurrency"] = most
    for theirs, ours in (("input_cost_per_token", "cost_in"), ("output_cost_per_token", "cost_out")):
        cost = params.get(theirs, info.get(theirs))
        if cost is not None:
            found[ours] = _per_million(cost, theirs)
    return found


def _per_million(cost: object, key: str) -> float:
    number = _number(cost)
    if number is None:
        raise Unclear("must be a number", f".litellm_params.{key}")
    return round(number * 1_000_000, 9)


def _number(value: object) -> float | None:
    """Also what YAML takes for text: `1e-6` without a dot."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _warn_unread(
    deployment: Mapping[str, Any], params: Mapping[str, Any], info: Mapping[str, Any], path: str, report: Report
) -> None:
    parts = (
        (path, deployment, {"model_name", "litellm_params", "model_info"}),
        (f"{path}.litellm_params", params, _PARAMS),
    )
    for place, held, known in (*parts, (f"{path}.model_info", info, _INFO)):
        for key in held:
            if key not in known:
                report.warn(child(place, str(key)), "not imported: it has no place here")
                report_secrets({key: held[key]}, place, report)
