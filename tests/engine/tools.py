"""Small registries for tests of the resolver."""

from __future__ import annotations

from typing import Any

from routing.engine import Catalog, load_registry


def tool(name: str, description: str = "", /, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, **more}


def endpoint(name: str, *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "declared", "tools": list(tools), **more}


def document(*endpoints: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "endpoints": list(endpoints), **more}


def schema(required: list[str] | None = None, **properties: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return made | ({"required": required} if required else {})


def office(**more: Any) -> dict[str, Any]:
    """Five endpoints of an ordinary day."""
    return document(
        endpoint(
            "hitspec",
            tool(
                "hitspec_fetch",
                "Request one address over HTTP and return its body as Markdown.",
                input_schema=schema(url="string"),
            ),
            tool("hitspec_validate", "Check one request definition for mistakes without sending it."),
            description="Bounded HTTP retrieval",
            use_when=["retrieve a public URL and read it as Markdown"],
        ),
        endpoint(
            "calendar",
            tool(
                "create_event",
                "Put an appointment on the agenda.",
                input_schema=schema(["title"], title="string", start="string"),
            ),
            tool("list_events", "Enumerate appointments between two dates."),
            tool("delete_event", "Take an appointment off the agenda."),
            use_when=["arrange meetings and check free time"],
        ),
        endpoint(
            "mail",
            tool("send_email", "Deliver a message to its recipients."),
            tool("list_inbox", "Enumerate the newest messages."),
            use_when=["write to people by e-mail"],
        ),
        endpoint(
            "postgres",
            tool("run_query", "Execute one read-only SQL statement and return the rows.", effect="read"),
            tool("list_tables", "Enumerate the tables of a schema."),
            tags=["database"],
        ),
        endpoint(
            "weather", tool("forecast", "Give the expected rain and temperature for a town over the coming days.")
        ),
        **more,
    )


def office_catalog(offline: tuple[str, ...] = (), **more: Any) -> Catalog:
    return load_registry(office(**more), offline=offline)
