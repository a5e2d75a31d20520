"""`manage.py workspace`: make a workspace, show and change what it allows."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from control import members
from control.management.answer import BAD_USAGE, AnswerCommand, find_workspace
from routing import sources
from routing.choices import SourceMode
from routing.errors import InvalidRequest
from routing.models import Workspace
from routing.models.actor import SYSTEM
from routing.services import registry, workspaces


class Command(AnswerCommand):
    help = "Show a workspace's settings, change them, or make the workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--create", action="store_true", help="make the workspace when there is none of that name")
        parser.add_argument(
            "--approvals", type=int, metavar="N", help="approvals that a revision needs before it is published"
        )
        parser.add_argument(
            "--self-approval", choices=("on", "off"), help="whether authors may approve their own changes"
        )
        parser.add_argument(
            "--allow-private",
            metavar="LIST",
            help="private addresses that may be called: CIDR or host[:port], separated by commas",
        )
        parser.add_argument(
            "--record-queries", choices=("on", "off"), help="whether the texts of queries are kept for replays"
        )

        parser.add_argument(
            "--source-file",
            metavar="PATH",
            help="file that the registry is kept in, below SWITCHYARD_SOURCE_ROOTS; '' for none",
        )
        parser.add_argument(
            "--source-mode", choices=SourceMode.values, help="whether the console and the API change the registry too"
        )
        parser.add_argument(
            "--source-proposes",
            choices=("on", "off"),
            help="whether what a read-only source says otherwise is proposed by itself",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = _create(options["name"]) if options["create"] else find_workspace(options["name"])
        settings = _given(options)
        if settings:
            _configure(workspace, settings)
        result = {
            "name": workspace.name,
            "approvals": workspace.approvals_needed,
            "self_approval": workspace.self_approval,
            "allow_private": workspace.allow_private,
            "record_queries": workspace.record_queries,
            "source_file": workspace.source_file or None,
            "source_mode": workspace.source_mode,
            "source_proposes": workspace.source_proposes,
        }
        self.answer(options, result, "\n".join(f"{name}: {_words(value)}" for name, value in result.items()))


def _create(name: str) -> Workspace:
    if not members.WORKSPACE_NAME.fullmatch(name):
        raise CommandError(
            f"{name!r} is no name for a workspace: 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit",
            returncode=BAD_USAGE,
        )
    workspace = Workspace.objects.filter(name=name).first() or registry.create_workspace(name, title=name, by=SYSTEM)
    members.admit_administrators(workspace, by=SYSTEM)
    return workspace


def _configure(workspace: Workspace, settings: dict[str, Any]) -> None:
    try:
        workspaces.configure(workspace, settings, by=SYSTEM)
    except InvalidRequest as error:
        raise CommandError(error.message, returncode=BAD_USAGE) from None


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The settings that the command line names, by their columns."""
    given: dict[str, Any] = {}
    if options["approvals"] is not None:
        if not 0 <= options["approvals"] <= workspaces.MOST_APPROVALS:
            raise CommandError("--approvals must be from 0 to 20", returncode=BAD_USAGE)
        given["approvals_needed"] = options["approvals"]
    for name in ("self_approval", "record_queries", "source_proposes"):
        if options[name] is not None:
            given[name] = options[name] == "on"
    if options["source_file"] is not None:
        given["source_file"] = _file(options["source_file"])
    if options["source_mode"] is not None:
        given["source_mode"] = options["source_mode"]
    if options["allow_private"] is not None:
        given["allow_private"] = [_destination(word) for word in options["allow_private"].split(",") if word.strip()]
    return given


def _destination(word: str) -> str:
    try:
        return workspaces.destination(word)
    except ValueError as error:
        raise CommandError(str(error), returncode=BAD_USAGE) from None


def _file(path: str) -> str:
    try:
        return sources.named(path) if path.strip() else ""
    except ValueError as error:
        raise CommandError(f"--source-file {path}: {error}", returncode=BAD_USAGE) from None


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return (", ".join(value) or "none") if isinstance(value, list) else "none" if value is None else str(value)
