"""A registry that is kept in a file: what may be named, what is read and written, drift, and who may still edit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from routing import sources as places
from routing.choices import SourceState
from routing.engine.canonical import digest_of
from routing.errors import InvalidRequest, ReadOnlySource, SourceUnreadable, StaleDraft
from routing.formats import read, write_json, write_yaml
from routing.formats.text import MAX_BYTES
from routing.models import AuditEntry, Edit, SourceCheck, Workspace
from routing.models.actor import SYSTEM
from routing.services import entries, imports, registry, reviews, revisions, sources, undoing, workspaces
from tests.routing.conftest import DOCUMENT, EDITOR

OTHER = {**DOCUMENT, "scopes": [{"name": "default"}]}
SECRET = "version: 1\nsecret: of-the-host\n"


@pytest.fixture
def root(tmp_path, settings) -> Path:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    settings.SOURCE_ROOTS = [allowed]
    return allowed


@pytest.fixture
def file(root, published) -> Path:
    """The live revision in a file."""
    file = root / "registry.yaml"
    file.write_text(write_yaml(revisions.live_document(published)))
    return file


def keep(workspace: Workspace, file: Path, mode: str = "read-only", proposes: bool = False) -> Workspace:
    told = {"source_file": places.named(str(file)), "source_mode": mode, "source_proposes": proposes}
    workspaces.configure(workspace, told, by=EDITOR)
    return Workspace.objects.get(pk=workspace.pk)


def newest() -> AuditEntry:
    return AuditEntry.objects.order_by("-pk_id").first()


# --- which files ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd.yaml",
        "../secret.yaml",
        "{root}/../secret.yaml",
        "link.yaml",
        "way/secret.yaml",
        "a\0.yaml",
        "registry.txt",
    ],
)
def test_a_file_outside_of_the_allowed_directories_is_not_named(root, path):
    (root.parent / "secret.yaml").write_text(SECRET)
    (root / "link.yaml").symlink_to(root.parent / "secret.yaml")
    (root / "way").symlink_to(root.parent)

    with pytest.raises(ValueError, match=r"outside|Name a file"):
        places.named(path.format(root=root))


def test_nothing_is_named_where_the_server_allows_no_directory(settings):
    settings.SOURCE_ROOTS = []
    with pytest.raises(ValueError, match="SWITCHYARD_SOURCE_ROOTS"):
        places.named("/srv/registry.yaml")


def test_the_installations_own_data_is_no_source(root, settings):
    settings.DATA_DIR = root / "data"
    with pytest.raises(ValueError, match="outside"):
        places.named("data/secrets.json")


def test_a_link_that_stays_inside_is_followed_and_stays_a_link(root):
    (root / "v2").mkdir()
    (root / "v2" / "real.yaml").write_text("version: 1\n")
    (root / "current").symlink_to("v2")
    (root / "registry.yaml").symlink_to("current/real.yaml")

    assert places.read(str(root / "registry.yaml")).data == b"version: 1\n"
    places.write(str(root / "registry.yaml"), b"version: 1\nendpoints: []\n")
    assert (root / "registry.yaml").is_symlink()
    assert (root / "v2" / "real.yaml").read_text() == "version: 1\nendpoints: []\n"


@pytest.mark.parametrize("turn", ["file", "directory"])
def test_a_link_that_is_turned_after_it_was_named_leads_nowhere(root, turn):
    (root.parent / "secret.yaml").write_text(SECRET)
    (root / "sub").mkdir()
    (root / "sub" / "secret.yaml").write_text("version: 1\n")
    path = places.named("sub/secret.yaml")
    (root / "sub" / "secret.yaml").unlink()
    if turn == "file":
        (root / "sub" / "secret.yaml").symlink_to(root.parent / "secret.yaml")
    else:
        (root / "sub").rmdir()
        (root / "sub").symlink_to(root.parent)

    with pytest.raises(SourceUnreadable, match="outside"):
        places.read(path)


def test_what_is_no_regular_file_holds_nobody_up(root):
    os.mkfifo(root / "pipe.yaml")
    (root / "folder.yaml").mkdir()

    for name in ("pipe.yaml", "folder.yaml"):
        with pytest.raises(SourceUnreadable, match="no regular file"):
            places.read(str(root / name))


def test_a_file_is_replaced_whole_and_keeps_its_rights(root):
    file = root / "registry.yaml"
    file.write_text("old")
    file.chmod(0o640)
    places.write(str(file), b"new")

    assert file.read_text() == "new" and file.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in root.iterdir()] == ["registry.yaml"]


def test_a_write_that_fails_leaves_the_file_and_nothing_else(root, monkeypatch):
    file = root / "registry.yaml"
    file.write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SourceUnreadable, match="No space left"):
        places.write(str(file), b"new")

    assert file.read_text() == "old"
    assert [one.name for one in root.iterdir()] == ["registry.yaml"]


# --- drift ------------------------------------------------------------------------------------------------------------
def test_a_check_notes_how_the_file_stands_and_tells_when_that_changes(file, published):
    workspace = keep(published, file)

    first = sources.check(workspace)
    again = sources.check(workspace)
    file.write_text(write_yaml(OTHER))
    drifted = sources.check(workspace)

    assert (first.state, again.since, drifted.state) == ("in_sync", first.since, "drifted")
    assert drifted.digest == digest_of(registry.checked(OTHER)[0])
    told = AuditEntry.objects.filter(workspace=workspace, action="source.checked").order_by("seq")
    assert [(one.before or {}).get("state") for one in told] == [None, "in_sync"]
    assert [one.after["state"] for one in told] == ["in_sync", "drifted"]
    assert {(one.actor_kind, one.target) for one in told} == {("system", "file registry.yaml")}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "There is no such file."),
        (b"version: 1\nendpoints: 5\n", "It is no valid registry document; problems: 1."),
        (b"\xff\xfe\xfa", "It is no valid registry document"),
        (b" " * (MAX_BYTES + 1), "It is larger than 16 MiB"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_reason_and_changes_nothing(file, published, content, why):
    workspace = keep(published, file)
    before = registry.draft_digest(workspace)
    file.unlink() if content is None else file.write_bytes(content)

    noted = sources.check(workspace)

    assert noted.state == SourceState.UNREADABLE and noted.why.startswith(why)
    assert bool(noted.problems) == ("document" in why)
    assert registry.draft_digest(workspace) == before
    with pytest.raises(SourceUnreadable, match=why[:20]):
        sources.take(workspace, seen="nothing", by=EDITOR)


def test_one_broken_source_stops_no_other(file, published, monkeypatch):
    other = registry.create_workspace("other", by=EDITOR)
    for workspace in (published, other):
        keep(workspace, file)
    look = sources.look

    def broken(workspace):
        if workspace.name == "acme":
            raise RuntimeError("broken")
        return look(workspace)

    monkeypatch.setattr(sources, "look", broken)

    assert sources.check_all() == 2
    assert list(SourceCheck.objects.values_list("workspace__name", "state")) == [("other", "drifted")]


def test_another_file_starts_anew(file, root, published):
    workspace = keep(published, file)
    sources.check(workspace)
    (root / "second.yaml").write_text("version: 1\n")
    keep(published, root / "second.yaml")

    assert not SourceCheck.objects.exists()


# --- a read-only console ----------------------------------------------------------------------------------------------
EDITS = {
    "edit": lambda w: entries.edit(w, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR),
    "add": lambda w: entries.add(w, "capabilities", {"name": "paper"}, by=EDITOR),
    "remove": lambda w: entries.remove(w, "scopes", ["web-only"], by=EDITOR),
    "put": lambda w: registry.put(w, OTHER, message="", seen=None, by=EDITOR),
    "import": lambda w: imports.import_registry(w, {"version": 1, "scopes": [{"name": "more"}]}, by=EDITOR),
    "into draft": lambda w: imports.into_draft(
        w, read(write_json({"version": 1, "scopes": [{"name": "x"}]})), by=EDITOR
    ),
    "restore": lambda w: registry.restore(w, 1, message="", by=EDITOR),
    "command": lambda w: registry.replace_working_copy(w, OTHER, by=SYSTEM),
}


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_is_refused_with_where_the_registry_is_kept(file, published, edit):
    workspace = keep(published, file)
    before = registry.working_document(workspace), AuditEntry.objects.count(), Edit.objects.count()

    with pytest.raises(ReadOnlySource, match=r"kept in registry\.yaml\. Change it there"):
        EDITS[edit](workspace)

    assert (registry.working_document(workspace), AuditEntry.objects.count(), Edit.objects.count()) == before


def test_undo_is_refused_and_what_was_left_can_be_discarded(file, published):
    entries.edit(published, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    workspace = keep(published, file)

    with pytest.raises(ReadOnlySource):
        undoing.undo(workspace, Edit.objects.get(revision=None).pk, by=EDITOR)
    registry.discard_draft(workspace, by=EDITOR)

    assert registry.draft_change_count(Workspace.objects.get(pk=workspace.pk)) == 0


def test_what_the_file_says_is_taken_and_published_by_people(file, published):
    workspace = keep(published, file)
    file.write_text(write_yaml(OTHER))

    sources.take(workspace, seen=sources.look(workspace).mark, by=EDITOR)
    told = newest()
    revisions.publish(workspace, message="From the file", by=EDITOR)

    assert (told.action, told.message, told.actor) == ("source.taken", "From registry.yaml", "an-editor")
    assert sources.check(workspace).state == SourceState.IN_SYNC


def test_the_check_proposes_what_the_file_says_once_and_over_nobodys_changes(file, published):
    workspace = keep(published, file, proposes=True)
    file.write_text(write_yaml(OTHER))

    sources.check(workspace)
    proposal = workspace.revisions.open().get()
    reviews.reject(workspace, proposal.number, reason="Not now", by=EDITOR)
    registry.discard_draft(workspace, by=EDITOR)
    sources.check(workspace)

    assert (proposal.created_by, proposal.message) == ("system source check", "From registry.yaml")
    assert not workspace.revisions.open().exists()
    assert revisions.live_document(workspace)["scopes"] == registry.checked(DOCUMENT)[0]["scopes"]


def test_changes_that_people_left_in_the_draft_are_not_written_over(file, published):
    entries.edit(published, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    workspace = keep(published, file, proposes=True)
    before = registry.draft_digest(workspace)
    file.write_text(write_yaml(OTHER))

    assert sources.check(workspace).state == SourceState.DRIFTED
    assert registry.draft_digest(workspace) == before


def test_proposing_goes_with_a_read_only_source_alone(file, published):
    with pytest.raises(InvalidRequest, match="write over what people change"):
        keep(published, file, "two-way", proposes=True)


def test_without_a_file_nothing_is_proposed_from_one(file, published):
    keep(published, file, proposes=True)
    workspaces.configure(published, {"source_file": ""}, by=EDITOR)

    assert Workspace.objects.get(pk=published.pk).source_proposes is False


# --- two-way ----------------------------------------------------------------------------------------------------------
def test_two_way_edits_are_made_in_both_and_what_is_live_is_written_in_canonical_form(file, published):
    workspace = keep(published, file, "two-way")
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    revisions.publish(workspace, message="Tags", by=EDITOR)

    live = sources.write(workspace, seen=sources.look(workspace).mark, by=EDITOR)

    assert file.read_text() == write_yaml(revisions.live_document(workspace))
    told = newest()
    assert (told.action, told.after["revision"], told.actor) == ("source.written", live.number, "an-editor")
    assert SourceCheck.objects.get().state == SourceState.IN_SYNC


def test_a_file_that_is_not_there_yet_is_made(root, published):
    workspace = keep(published, root / "new.json", "two-way")

    sources.write(workspace, seen=sources.look(workspace).mark, by=EDITOR)

    assert (root / "new.json").read_text() == write_json(revisions.live_document(workspace))


def test_a_read_only_file_is_never_written(file, published):
    workspace, before = keep(published, file), file.read_text()

    with pytest.raises(ReadOnlySource, match="two-way"):
        sources.write(workspace, seen=sources.look(workspace).mark, by=EDITOR)
    assert file.read_text() == before


@pytest.mark.parametrize("content", ["something: else\n", "{", ""])
def test_what_is_no_registry_is_not_overwritten(file, published, content):
    workspace = keep(published, file, "two-way")
    file.write_text(content)

    with pytest.raises(SourceUnreadable, match="not overwritten"):
        sources.write(workspace, seen=sources.look(workspace).mark, by=EDITOR)
    assert file.read_text() == content


def test_a_file_or_draft_that_changed_since_it_was_looked_at_is_left_alone(file, published):
    workspace = keep(published, file, "two-way")
    seen, draft = sources.look(workspace).mark, registry.draft_digest(workspace)
    file.write_text(write_yaml(OTHER))

    for act in (sources.take, sources.write):
        with pytest.raises(StaleDraft, match="The file changed"):
            act(workspace, seen=seen, by=EDITOR)
    entries.edit(workspace, "endpoints", "notes", {"tags": ["paper"]}, by=EDITOR)
    with pytest.raises(StaleDraft, match="The draft changed"):
        sources.take(workspace, seen=sources.look(workspace).mark, draft=draft, by=EDITOR)
    assert file.read_text() == write_yaml(OTHER)


# --- Git --------------------------------------------------------------------------------------------------------------
def git(place: Path, *words: str) -> None:
    told = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(place), *told, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(file) -> Path:
    git(file.parent, "init", "-b", "main")
    git(file.parent, "add", file.name)
    git(file.parent, "commit", "-m", "Two endpoints\n\nAnd more")
    return file.parent


def test_the_commit_of_a_checkout_is_told(checkout, file, published):
    workspace = keep(published, file)
    there = sources.look(workspace).checkout(workspace.source_file)
    file.write_text(write_yaml(OTHER))
    changed = sources.look(workspace).checkout(workspace.source_file)

    assert (there.branch, there.author, there.subject, len(there.commit)) == ("main", "Ada", "Two endpoints", 40)
    assert there.is_committed and not changed.is_committed
    assert sources._from(workspace, sources.look(workspace)) == "From registry.yaml"


def test_a_proposal_names_the_commit_that_it_comes_from(checkout, file, published):
    workspace = keep(published, file, proposes=True)
    file.write_text(write_yaml(OTHER))
    git(checkout, "commit", "-am", "One scope less")

    sources.check(workspace)

    assert workspace.revisions.open().get().message.endswith(": One scope less")


def test_a_file_in_no_commit_yet_shows_nothing_of_the_others(checkout, root, published):
    (root / "new.yaml").write_text("version: 1\n")
    workspace = keep(published, root / "new.yaml")

    there = sources.look(workspace).checkout(workspace.source_file)

    assert (there.top, there.commit, there.subject, there.why) == (str(checkout), "", "", "")


def test_a_plain_file_has_no_checkout(file, published):
    workspace = keep(published, file)
    assert sources.look(workspace).checkout(workspace.source_file) is None


def test_no_program_that_a_checkout_names_is_run(checkout, file, published, root):
    trap = root / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {root}/sprung\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "gpg.program", "core.pager", "filter.x.clean", "core.sshCommand"):
        git(checkout, "config", name, str(trap))
    git(checkout, "config", "log.showSignature", "true")
    (checkout / ".gitattributes").write_text("* filter=x\n")
    workspace = keep(published, file)

    assert sources.look(workspace).checkout(workspace.source_file).subject == "Two endpoints"
    assert not (root / "sprung").exists()


def test_a_server_without_git_says_so(checkout, file, published, monkeypatch):
    monkeypatch.setenv("PATH", str(checkout))
    workspace = keep(published, file)

    assert "git is not installed" in sources.look(workspace).checkout(workspace.source_file).why


def test_a_git_that_does_not_answer_is_given_up(checkout, file, published, monkeypatch, tmp_path):
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("routing.sources.git.PATIENCE_S", 0.1)
    workspace = keep(published, file)

    assert "did not answer" in sources.look(workspace).checkout(workspace.source_file).why
