"""import_registry, export_registry and check as someone at a terminal meets them."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from routing.formats import read
from routing.models.actor import SYSTEM
from routing.services import registry, revisions

DOCUMENT = """\
version: 1
endpoints:
- name: hitspec
  kind: declared
  description: Bounded HTTP retrieval
  tools:
  - name: hitspec_fetch
    description: Request one address over HTTP and hand back the body as Markdown
  - name: hitspec_list
    description: List the saved request definitions
expectations:
- name: a page is fetched
  query: fetch https://example.com/guide as Markdown
  expect: {status: [confident], recommendation: hitspec__hitspec_fetch, not_recommended: [hitspec__list]}
"""


def run(*arguments: object) -> tuple[int, str]:
    """Exit status and what was printed."""
    out = StringIO()
    try:
        call_command(*map(str, arguments), stdout=out, stderr=out)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    except CommandError as error:
        return error.returncode, str(error)
    return 0, out.getvalue()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def workspace(db):
    from routing.models import Workspace

    return Workspace.objects.filter(name="default").first() or registry.create_workspace("default", by=SYSTEM)


def test_check_needs_no_database(file):
    status, printed = run("check", file, "--json")

    assert status == 0
    assert json.loads(printed) == {
        "ok": True,
        "problems": [],
        "warnings": [],
        "expectations": {"passed": 1, "failed": []},
    }


def test_check_names_the_expectation_and_what_differs(file):
    file.write_text(DOCUMENT.replace("status: [confident]", "status: [no_match], ambiguous: false"))

    status, printed = run("check", file, "--json")

    assert status == 1
    assert json.loads(printed)["expectations"] == {
        "passed": 0,
        "failed": [{"name": "a page is fetched", "differs": ["status"]}],
    }


def test_check_lists_every_problem(file):
    file.write_text(DOCUMENT.replace("kind: declared", "kind: ftp").replace("version: 1", "version: 7"))

    status, printed = run("check", file)

    assert status == 1
    assert "version: is a version that is not known" in printed
    assert "endpoints[0].kind: must be one of" in printed


@pytest.mark.parametrize("command", ["check", "import_registry"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version: 1\nendpoints: [a: b: c]\n", "at line 2, column"),
        (b"\x7fELF\x02\x00\xff", "no UTF-8 text"),
        (b"", "is empty"),
        (b'{"a": 1', "no valid JSON at line 1, column 8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(command, content, words, tmp_path, workspace):
    path = tmp_path / "file"
    path.write_bytes(content)

    status, printed = run(command, path)

    assert status == 1
    assert words in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("command", ["check", "import_registry"])
def test_no_file_is_bad_usage(command, tmp_path, workspace):
    assert run(command, tmp_path / "none") == (2, f"there is no file {tmp_path / 'none'}")
    assert run(command, tmp_path) == (2, f"{tmp_path} is a directory, not a file")


def test_an_unknown_workspace_or_format_is_bad_usage(file, workspace):
    assert run("import_registry", file, "--workspace", "nope")[0] == 2
    assert run("export_registry", "--workspace", "nope")[0] == 2
    assert run("export_registry", "--revision", 99)[0] == 2
    assert run("import_registry", file, "--tools", file.with_name("none"))[0] == 2


def test_import_tells_what_became_of_each_entry(file, workspace):
    status, printed = run("import_registry", file, "--json")

    answer = json.loads(printed)
    assert status == 0
    assert set(answer) == {"format", "entries", "warnings", "secrets", "revision", "state", "digest"}
    assert (answer["format"], answer["state"]) == ("switchyard", "proposed")
    assert {"kind": "endpoint", "name": "hitspec", "action": "added", "problems": []} in answer["entries"]


def test_import_and_publish_makes_it_live(file, workspace):
    status, printed = run("import_registry", file, "--publish", "-m", "Add hitspec", "--json")

    answer = json.loads(printed)
    live = revisions.find(workspace, answer["revision"])
    assert (status, answer["state"], str(live.state), live.message, live.digest) == (
        0,
        "live",
        "live",
        "Add hitspec",
        answer["digest"],
    )
    assert [one["name"] for one in revisions.live_document(workspace)["endpoints"]] == ["hitspec"]


def test_a_dry_run_stores_nothing(file, workspace):
    status, printed = run("import_registry", file, "--dry-run", "--publish")

    assert status == 0
    assert printed.startswith("Would be imported")
    assert registry.working_document(workspace).get("endpoints") is None


def test_a_refused_import_ends_with_one_and_says_why(file, workspace):
    file.write_text(DOCUMENT.replace("kind: declared", "kind: mcp"))

    status, printed = run("import_registry", file)

    assert status == 1
    assert "endpoints[0].url: is required for kind mcp" in printed
    assert "Refused" in printed


def test_tools_come_from_a_file_beside(tmp_path, workspace):
    (tmp_path / "mcphub.yaml").write_text(
        "servers: {web: {url: 'https://x.example/mcp', enabled: true, tool_use_when: {gone: [x]}}}"
    )
    (tmp_path / "tools.json").write_text(
        '{"web": {"tools": [{"name": "web_fetch", "inputSchema": {"type": "object"}}]}}'
    )

    status, printed = run("import_registry", tmp_path / "mcphub.yaml", "--tools", tmp_path / "tools.json", "--json")

    assert (status, json.loads(printed)["format"]) == (0, "mcphub")
    assert [warning["path"] for warning in json.loads(printed)["warnings"]] == ["servers.web.tool_use_when.gone"]
    assert registry.working_document(workspace)["endpoints"][0]["tools"] == [
        {"name": "web_fetch", "input_schema": {"type": "object"}}
    ]


@pytest.mark.parametrize("format", ["yaml", "json"])
def test_what_is_exported_reads_as_what_is_live(file, workspace, format):
    run("import_registry", file, "--publish", "-m", "Add hitspec")

    status, printed = run("export_registry", "--format", format)

    assert status == 0
    assert read(printed).document == revisions.live_document(workspace)


def test_an_older_revision_can_be_exported(file, workspace):
    first = revisions.live_document(workspace)
    run("import_registry", file, "--publish")

    assert read(run("export_registry", "--revision", 1)[1]).document == first


def test_an_import_that_needs_approvals_is_proposed_and_says_that_it_is_not_live(file, workspace):
    type(workspace).objects.filter(pk=workspace.pk).update(approvals_needed=1)
    live = revisions.live_document(workspace)

    status, said = run("import_registry", file, "--workspace", workspace.name, "--publish")

    assert status == 1
    assert "Imported and proposed, not published" in said and "0 of the 1 approvals" in said
    assert revisions.live_document(workspace) == live
    assert workspace.revisions.open().count() == 1


def test_an_import_that_does_not_do_what_it_expects_is_proposed_and_names_what_is_not_met(file, workspace):
    file.write_text(DOCUMENT.replace("status: [confident]", "status: [no_match]"))

    status, said = run("import_registry", file, "--workspace", workspace.name, "--publish")

    assert status == 1
    assert "not published" in said and "expectations[a page is fetched] comes out differently: status" in said
    assert workspace.revisions.open().count() == 1
