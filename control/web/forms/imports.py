"""What is brought in, and what becomes of entries that the draft has too."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from routing.formats import FORMATS
from routing.formats.text import MAX_BYTES

LARGEST = f"{MAX_BYTES // 1024 // 1024} MiB"
FORMAT_WORDS = {
    "auto": "Found out from the content",
    "switchyard": "Switchyard's own document",
    "mcphub": "mcphub.yaml",
    "mcp-json": "Server list of an MCP host (mcp.json)",
    "harvey-routes": "Harvey's routes.json",
    "litellm": "LiteLLM's model list",
}
STRATEGY_WORDS = {
    "update": "Update: take the imported one",
    "skip": "Skip: keep the one in the draft",
    "rename": "Rename: take both, the imported one under a new name",
    "refuse": "Refuse: bring nothing in",
}


class ImportForm(forms.Form):
    file = forms.FileField(label="File", required=False, allow_empty_file=True)
    text = forms.CharField(
        label="Or its text",
        required=False,
        strip=False,
        max_length=MAX_BYTES,
        widget=forms.Textarea,
        error_messages={"max_length": f"The text is larger than {LARGEST}; nothing larger is read."},
    )
    format = forms.ChoiceField(
        choices=[(name, FORMAT_WORDS.get(name, name)) for name in dict.fromkeys(("auto", *FORMATS))], initial="auto"
    )
    strategy = forms.ChoiceField(choices=list(STRATEGY_WORDS.items()), initial="update")

    def clean_file(self) -> UploadedFile[Any] | None:
        file: UploadedFile[Any] | None = self.cleaned_data["file"]
        if file is not None and (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(f"The file is larger than {LARGEST}; nothing larger is read.")
        return file

    def clean(self) -> dict[str, Any] | None:
        given = self.cleaned_data
        if not self.errors and bool(given.get("file")) == bool(given.get("text", "").strip()):
            self.add_error(
                "file" if not given.get("file") else "text",
                "Give a file or its text, not both." if given.get("file") else "Choose a file or paste its text.",
            )
        return given

    def content(self) -> tuple[bytes, str | None]:
        """What was given, and the file's name when it was one."""
        file = self.cleaned_data["file"]
        return (file.read(), file.name) if file else (self.cleaned_data["text"].encode(), None)


class TakeForm(forms.Form):
    """Of an import that was looked at: how clashes end, and the digest of the draft that was looked at."""

    strategy = forms.ChoiceField(choices=list(STRATEGY_WORDS.items()))
    message = forms.CharField(required=False, max_length=2000)
    seen = forms.CharField(required=False, max_length=100)
