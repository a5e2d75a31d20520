"""The page of the documentation that says who may do what, made from `control.access`."""

from __future__ import annotations

from collections import defaultdict

from django.urls import URLPattern

from control.access import ACTIONS, RIGHT_NEEDS, ROLES

HEAD = """# Roles and rights

Made by `python3 manage.py roles_page --to docs/roles.md` from `control/access.py`, the one table that pages, calls and commands ask.
A test fails when this page and the table differ.

A person has one role in each workspace. Whoever has none finds nothing there: every address answers 404, the same as one that does
not exist. A member whose role lacks an action is told so (403), and the audit log keeps it.

## What each role may do

"""
KEYS = """
## What a key may do

A key reaches one scope of one workspace, with the rights that it was made with. It acts as whoever made it: each right needs an action,
and when that person's role does not include it today, the key cannot use the right (403). When the person left the workspace
or was shut out, the key is refused like an unknown one (401). Keys made by `manage.py create_key`, and that of the first start, act
as the installation, with the actions of an administrator.

| right | needs of whoever made the key |
| --- | --- |
"""
PAGES = """
## What each page needs

| action | pages and what they do |
| --- | --- |
"""


def page() -> str:
    """The whole page as Markdown."""
    return (
        HEAD
        + _roles()
        + KEYS
        + "".join(f"| `{right}` | `{action}` |\n" for right, action in RIGHT_NEEDS.items())
        + PAGES
        + _pages()
    )


def _roles() -> str:
    names = [str(role) for role in ROLES]
    lines = ["| action | " + " | ".join(names) + " |", "| --- |" + " :-: |" * len(names)]
    lines += [
        f"| `{action}` | " + " | ".join("yes" if action in ROLES[name] else "–" for name in names) + " |"
        for action in sorted(ACTIONS)
    ]
    return "\n".join(lines) + "\n"


def _pages() -> str:
    found: dict[str, list[str]] = defaultdict(list)
    for pattern, action, posts in guarded():
        shown = f"`{pattern.pattern}`" if str(pattern.pattern) else "the overview"
        found[action].append(shown)
        if posts != action:
            found[posts].append(f"posting to {shown}")
    return "".join(f"| `{action}` | {', '.join(found[action])} |\n" for action in sorted(found))


def guarded() -> list[tuple[URLPattern, str, str]]:
    """Every address inside a workspace with the actions that looking and posting need. Raises LookupError for one that names none."""
    from control.web import urls  # the pages import what this module documents

    found = []
    for pattern in urls.rooms:
        view = pattern.callback
        while view is not None and not hasattr(view, "action"):
            view = getattr(view, "__wrapped__", None)
        if view is None:
            raise LookupError(f"{pattern.name} does not say which action it needs")
        found.append((pattern, view.action, view.posts))
    return found
