"""Where each coding agent keeps hooks and skills, and before which of its tools there may be a fork."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """`home` is the agent's own folder; paths are made from it."""

    name: str
    home: Path
    hooks_file: str  # JSON
    matcher: str  # of the names of tools that do what a specialist may do better

    @property
    def hooks_path(self) -> Path:
        return self.home / self.hooks_file

    @property
    def toml_path(self) -> Path | None:
        """The settings in TOML where this agent may keep its hooks as well."""
        return self.home / "config.toml" if self.name == "codex" else None

    @property
    def skill_path(self) -> Path:
        return self.home / "skills" / "switchyard" / "SKILL.md"

    @property
    def record_path(self) -> Path:
        """What was written, so that it can be undone."""
        return self.home / "switchyard-hooks.json"


# Reading and editing files follow from what was just seen; a shell, the web, a sub-agent or another server is a choice.
HOSTS = {
    "claude-code": (".claude", "CLAUDE_CONFIG_DIR", "settings.json", "Bash|WebFetch|WebSearch|Task|Agent|mcp__.*"),
    "codex": (".codex", "CODEX_HOME", "hooks.json", "Bash|shell|exec_command|web_search|mcp__.*"),
}


def find_host(name: str, *, project: Path | None = None) -> Host:
    """The agent's settings of this user, or of one project. Raises KeyError for an agent that is not known."""
    folder, variable, hooks_file, matcher = HOSTS[name]
    if project is not None:
        home = project / folder
    else:
        home = Path(os.environ[variable]) if os.environ.get(variable) else Path.home() / folder
    return Host(name=name, home=home.absolute(), hooks_file=hooks_file, matcher=matcher)
