"""Model providers whose address is public and whose key has a usual variable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    url: str
    credential: str


HOSTS = {
    "anthropic": Host("https://api.anthropic.com", "env:ANTHROPIC_API_KEY"),
    "deepseek": Host("https://api.deepseek.com", "env:DEEPSEEK_API_KEY"),
    "gemini": Host("https://generativelanguage.googleapis.com", "env:GEMINI_API_KEY"),
    "mistral": Host("https://api.mistral.ai", "env:MISTRAL_API_KEY"),
    "openai": Host("https://api.openai.com", "env:OPENAI_API_KEY"),
}
