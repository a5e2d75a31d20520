"""`manage.py import_registry FILE`: a registry document, or another tool's configuration, into a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from control.management.answer import AnswerCommand, find_workspace
from control.management.files import read_file
from routing.errors import ExpectationsFailed, NeedsApproval, ReadOnlySource
from routing.formats import FORMATS
from routing.formats.merging import STRATEGIES
from routing.models.actor import SYSTEM
from routing.services import imports, revisions


class Command(AnswerCommand):
    help = (
        "Import a registry document or another tool's configuration into a workspace, as a proposed revision.\n\n"
        "Secrets found in the file are reported and never stored. Exit status: 0 imported, 1 refused, 2 bad usage."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", help="YAML, TOML or JSON; - for standard input")
        parser.add_argument("--workspace", default="default", help="name of the workspace (default: default)")
        parser.add_argument(
            "--format", default="auto", choices=["auto", *FORMATS], help="what the file is (default: auto)"
        )
        parser.add_argument(
            "--tools", metavar="FILE", help="answers of tools/list by server, added to the file's endpoints"
        )
        parser.add_argument(
            "--strategy", default="update", choices=STRATEGIES, help="for entries that exist already (default: update)"
        )
        parser.add_argument("--dry-run", action="store_true", help="tell what would happen and store nothing")
        parser.add_argument("--publish", action="store_true", help="make the outcome live at once")
        parser.add_argument("-m", "--message", default="", metavar="TEXT", help="what the revision is for")

    def handle(self, *args: Any, **options: Any) -> None:
        content = read_file(options["file"])
        tools = read_file(options["tools"]) if options["tools"] else None
        workspace = find_workspace(options["workspace"])
        try:
            result = imports.import_registry(
                workspace,
                content,
                format=options["format"],
                filename=None if options["file"] == "-" else options["file"],
                tools=tools,
                strategy=options["strategy"],
                dry_run=options["dry_run"],
                message=options["message"],
                by=SYSTEM,
            )
        except ReadOnlySource as problem:
            raise CommandError(problem.message) from None
        ok = result["state"] != imports.REFUSED
        if ok and options["publish"] and not options["dry_run"]:
            try:
                live = revisions.publish(workspace, message=options["message"], by=SYSTEM)
            except (NeedsApproval, ExpectationsFailed) as problem:
                raise CommandError(f"Imported and proposed, not published. {_why(problem)}") from None
            result |= {"revision": live.number, "state": str(live.state), "digest": live.digest}
        self.answer(options, result, _told(result), ok=ok)


def _why(problem: NeedsApproval | ExpectationsFailed) -> str:
    """Why it is not published, with each expectation that is not met on a line."""
    if not isinstance(problem, ExpectationsFailed):
        return problem.message
    lines = [f"  {detail['path']} {detail['message']}" for detail in problem.details]
    return "\n".join([problem.message, *lines])


def _told(result: Mapping[str, Any]) -> str:
    lines = []
    for entry in result["entries"]:
        if entry["problems"] or entry["action"] == "renamed":
            lines.append(f"{entry['action']}  {entry['kind']} {entry['name']}".rstrip())
        lines += [
            f"  {problem['path']}: {problem['message']}{_allowed(problem)}".replace("  : ", "  ")
            for problem in entry["problems"]
        ]
    lines += [f"warning  {warning['path']}: {warning['message']}" for warning in result["warnings"]]
    lines += [f"secret  {secret['path']}: not stored; keep it as {secret['suggested']}" for secret in result["secrets"]]
    counts = [f"{sum(entry['action'] == action for entry in result['entries'])} {action}" for action in _shown(result)]
    return "\n".join(
        [
            *lines,
            f"{_OUTCOMES.get(result['state'], result['state'])} ({result['format']}): {', '.join(counts) or 'nothing in it'}{_at(result)}",
        ]
    )


_OUTCOMES = {
    "refused": "Refused, nothing was stored",
    "dry_run": "Would be imported",
    "unchanged": "Nothing new",
    "proposed": "Imported, not yet live",
    "live": "Imported and live",
}


def _shown(result: Mapping[str, Any]) -> list[str]:
    present = {entry["action"] for entry in result["entries"]}
    return [action for action in ("added", "updated", "renamed", "skipped", "refused") if action in present]


def _allowed(problem: Mapping[str, Any]) -> str:
    allowed = problem.get("allowed")
    return (
        ""
        if allowed is None
        else f" (allowed: {', '.join(map(str, allowed)) if isinstance(allowed, list) else allowed})"
    )


def _at(result: Mapping[str, Any]) -> str:
    return "" if result["revision"] is None else f"; revision {result['revision']}"
