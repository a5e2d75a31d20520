"""`manage.py create_key`: a harness's key, shown once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from control.access import DEFAULT_RIGHTS, RIGHTS
from control.keys import create_key
from control.management.answer import BAD_USAGE, AnswerCommand, find_workspace
from routing import snapshot
from routing.errors import RoutingError
from routing.models import Workspace
from routing.models.actor import SYSTEM


class Command(AnswerCommand):
    help = "Make a key for a harness that reaches one scope; prints the key, which is never shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("scope", metavar="SCOPE", help="the scope that the key reaches")
        parser.add_argument("--workspace", default="default", help="name of the workspace (default: default)")
        parser.add_argument("--name", default="", help="name of the key (default: the scope and a random ending)")
        parser.add_argument(
            "--rights",
            default=",".join(DEFAULT_RIGHTS),
            help=f"separated by commas, of {', '.join(RIGHTS)} (default: {','.join(DEFAULT_RIGHTS)})",
        )
        parser.add_argument("--expires", type=int, metavar="DAYS", help="days until the key ends (default: never)")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        _require_scope(workspace, options["scope"])
        try:
            row, plain = create_key(
                workspace,
                options["scope"],
                name=options["name"],
                rights=[right.strip() for right in options["rights"].split(",") if right.strip()],
                expires_days=options["expires"],
                by=SYSTEM,
            )
        except RoutingError as problem:
            reasons = "".join(f"\n  {detail['path']}: {detail['message']}" for detail in problem.details)
            raise CommandError(f"{problem.message}{reasons}", returncode=BAD_USAGE) from None
        result = {
            "id": str(row.pk),
            "name": row.name,
            "workspace": workspace.name,
            "scope": row.scope,
            "rights": row.rights,
            "expires_at": row.expires_at.isoformat().replace("+00:00", "Z") if row.expires_at else None,
            "key": plain,
        }
        self.answer(options, result, plain)


def _require_scope(workspace: Workspace, scope: str) -> None:
    """A key for a scope that is not live would reach nothing: most likely its name is misspelt."""
    known = snapshot.live(workspace.pk).catalog.scopes
    if scope not in known:
        raise CommandError(
            f"workspace {workspace.name} has no live scope {scope!r} (there are: {', '.join(sorted(known))})"
        )
