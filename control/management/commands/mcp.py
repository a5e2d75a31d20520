"""`manage.py mcp`: an MCP server over standard input and output, for hosts that start one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from control.asking.errors import BadInput
from control.management.answer import BAD_USAGE, InstallationCommand, find_workspace
from routing import snapshot


class Command(InstallationCommand):
    help = (
        "Serve the tools route and route_mcts over stdin and stdout: with the services of the data dir, or with "
        "--url and --key by asking a server."
    )

    def needs_installation(self, options: Mapping[str, Any]) -> bool:
        return not options["url"]

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--url", default=os.environ.get("SWITCHYARD_URL"), help="a server to ask (SWITCHYARD_URL)")
        parser.add_argument("--key", default=os.environ.get("SWITCHYARD_KEY"), help="its key (SWITCHYARD_KEY)")
        parser.add_argument("--workspace", default="default", help="name of the workspace (default: default)")
        parser.add_argument("--scope", default="default", help="the scope whose tools are seen (default: default)")

    def handle(self, *args: Any, **options: Any) -> None:
        # Imported here: the protocol's packages take a second, which no other command should pay for.
        from control.mcp_server.server import serve

        serve(self._remote(options) if options["url"] else self._inside(options))

    def _remote(self, options: dict[str, Any]) -> Any:
        from control.mcp_server.remote import Remote

        if not options["key"]:
            raise CommandError("--key: is needed to ask a server (or SWITCHYARD_KEY)", returncode=BAD_USAGE)
        try:
            return Remote(options["url"], options["key"])
        except BadInput as problem:
            raise CommandError(str(problem), returncode=BAD_USAGE) from None

    def _inside(self, options: dict[str, Any]) -> Any:
        from control.mcp_server.inside import Inside

        workspace = find_workspace(options["workspace"])
        if options["scope"] not in snapshot.live(workspace.pk).catalog.scopes:
            raise CommandError(f"there is no scope {options['scope']!r} in what is live", returncode=BAD_USAGE)
        return Inside(workspace.pk, options["scope"])
