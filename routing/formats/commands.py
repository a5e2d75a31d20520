"""Servers that a host starts by a command: told to the host, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routing.formats.secrets import report_arguments, report_environment
from routing.formats.values import Report


def propose_launch(
    new: str, server: Mapping[str, Any], path: str, report: Report, *, environment: str = "env", arguments: str = "args"
) -> str:
    """A command is run by the host, from a file of the host: what that file needs is told, nothing of it is stored."""
    variables = report_environment(server.get(environment), f"{path}.{environment}", report)
    given = server.get(arguments) or []
    report_arguments(given, f"{path}.{arguments}", report)
    told = f"commands are not stored: add an entry {new} to the host-side file with this command"
    if isinstance(given, list) and given and arguments != "command":
        told += f", its {len(given)} arguments"
    if variables:
        told += f", the variables {', '.join(variables)}"
    if server.get("cwd"):
        told += ", its working folder"
    report.warn(f"{path}.command", told)
    if server.get("headers"):
        report.warn(f"{path}.headers", "headers are for servers with a url; not imported")
    report.launches.append(new)
    return f"host:{new}"
