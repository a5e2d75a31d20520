"""What the documents promise: commands and their options exist, links lead somewhere, examples are valid."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from control import asking, integrations, processes, roles_page
from control.access import RIGHTS
from control.asking import lookahead
from control.asking.arguments import read_arguments
from control.demo.documents import default_document
from control.environment import Environment
from routing.engine import assemble, load_registry, resolve
from routing.engine.validation import parse_document

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
COMMAND = re.compile(r"python3? manage\.py ([^`\n|]+)")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
# Taken out of the arguments before Django loads, or given by Django to every command.
EVERYWHERE = {"--data-dir", "--help"}


def command_lines() -> list[tuple[str, str]]:
    return [(page.name, line.strip()) for page in PAGES for line in COMMAND.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_documents_leads_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_names_its_two_commands() -> None:
    shown = [line for page, line in command_lines() if page == "README.md"]

    assert shown[:2] == ["up", "test"]


@pytest.mark.parametrize(("page", "line"), command_lines())
def test_every_command_that_a_document_shows_exists_with_its_options(page: str, line: str) -> None:
    name, *words = shlex.split(line.replace("[", " ").replace("]", " ").split(" #")[0].split(" > ")[0])
    if name in ("test", "help"):
        return
    assert name in get_commands(), f"{page} speaks of manage.py {name}"
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    known = {option for action in parser._actions for option in action.option_strings} | EVERYWHERE
    assert {word.split("=")[0] for word in words if re.match(r"-{1,2}[a-z]", word)} <= known


def shell_lines() -> list[str]:
    """What documents and the skill show of `har` and `switchyard`, in blocks of shell."""
    skill = ROOT / "control" / "integrations" / "skill" / "switchyard" / "SKILL.md"
    blocks = [
        block
        for page in [*PAGES, skill]
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith(("har ", "switchyard "))]


@pytest.mark.parametrize("line", shell_lines())
def test_every_command_for_a_shell_that_a_document_shows_can_be_read(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SWITCHYARD_URL", raising=False)
    program, command, *words = shlex.split(line, comments=True)
    if command == "hooks":
        assert integrations.arguments(program).parse_args(words).action
    elif command in asking.COMMANDS:
        read_arguments(program, [command, *words])
    else:
        assert [command, *words] == ["--version"]


def test_the_python_of_the_command_line_page_says_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)  # type: ignore[union-attr]
    exec(program, {})

    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", program)


def test_the_example_of_the_registry_page_is_valid_and_its_expectation_holds() -> None:
    text = (ROOT / "docs" / "registry.md").read_text(encoding="utf-8")
    document = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1))  # type: ignore[union-attr]
    expectation = document["expectations"][0]

    assert parse_document(document).warnings == ()
    answer = resolve(load_registry(document), expectation["query"])
    assert answer["status"] in expectation["expect"]["status"]
    assert answer["recommendation"]["namespaced"] == expectation["expect"]["recommendation"]


def test_the_example_of_the_search_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)  # type: ignore[union-attr]
    exec(example, {})

    assert capsys.readouterr().out == example.splitlines()[-1].removeprefix("# ") + "\n"


@pytest.mark.parametrize("name", ["docs/command-line.md", "control/integrations/skill/switchyard/SKILL.md"])
def test_the_search_that_a_document_shows_answers_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    plan = re.search(r"`plan\.json`.*?```json\n(.*?)```\n\n```sh\n(har search plan\.json)\n```(.*)", text, re.DOTALL)
    assert plan is not None
    monkeypatch.chdir(tmp_path)
    for variable in ("SWITCHYARD_URL", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    Path("plan.json").write_text(plan[1])
    assert asking.main("har", plan[2].split()[1:]) == 0

    result = json.loads(capsys.readouterr().out)["result"]
    shown = re.search(r"```json\n(.*?)```", plan[3], re.DOTALL)
    if shown is not None:
        expected = json.loads(shown[1])
        assert {key: result[key] for key in expected} == expected
    assert result["tool"] == "read_log"


def test_the_command_line_page_lists_every_key_of_a_search() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").partition("| key | what |")[2]
    cells = re.findall(r"^\| (`.*?) \|", text.partition("\n\n")[0], re.MULTILINE)

    assert {key for cell in cells for key in re.findall(r"`(\w+)`", cell)} == lookahead.KNOWN


def run_with(*packages: str, program: str) -> subprocess.CompletedProcess[str]:
    """A program in a Python that has the standard library, `routing` and these packages, and nothing else."""
    guard = (
        "import sys; from importlib.abc import MetaPathFinder\n"
        "class Absent(MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] not in {{*sys.stdlib_module_names, 'routing', *{packages!r}}}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    return subprocess.run([sys.executable, "-c", guard + program], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(("page", "printed"), [("library.md", "read_file 0.9"), ("search.md", "invest {")])
def test_routers_and_searches_need_the_standard_library_alone(page: str, printed: str) -> None:
    example = re.search(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    done = run_with(program=example[1])  # type: ignore[index]

    assert done.stderr == ""
    assert done.stdout.startswith(printed)


def test_the_ranker_needs_the_packages_that_the_library_page_names_and_no_others() -> None:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    row = re.search(r"^\| the ranker: .*\| (.*?) \|$", text, re.MULTILINE)
    named = re.findall(r"`(\w+)`", row[1])  # type: ignore[index]
    program = (
        "from routing.engine import load_registry, resolve\n"
        "tools = [{'name': 'fetch', 'description': 'Fetch the text of a web page'}]\n"
        "web = {'name': 'web', 'kind': 'declared', 'tools': tools}\n"
        "catalog = load_registry({'version': 1, 'endpoints': [web]})\n"
        "print(resolve(catalog, 'fetch the text of a web page')['recommendation']['namespaced'])\n"
    )

    assert run_with(*named, program=program).stdout == "web__fetch\n"
    for one in named:
        missing = run_with(*(set(named) - {one}), program=program)
        assert missing.returncode == 1 and one in missing.stderr


def test_the_example_of_the_page_for_harnesses_gives_the_hint_that_it_shows() -> None:
    text = (ROOT / "docs" / "harnesses.md").read_text(encoding="utf-8")
    activity = json.loads(re.search(r"\$base/advice -d '(.*?)'", text, re.DOTALL).group(1))  # type: ignore[union-attr]
    answer = resolve(load_registry(default_document()), assemble(**activity))

    best = answer["recommendation"]
    hint = f"Capability route · {activity['phase']} → {best['server']} · {best['title'] or best['tool']}"
    assert answer["status"] == "confident" and f"`{hint}`" in text


def test_the_table_of_rights_has_every_right_once() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("| right | calls |")[2]
    rows = re.findall(r"^\| (`.*?) \|", text.partition("\n\n")[0], re.MULTILINE)

    assert sorted(right for row in rows for right in re.findall(r"`(.*?)`", row)) == sorted(RIGHTS)


def test_json_examples_can_be_parsed() -> None:
    for page in PAGES:
        for block in re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            json.loads(block)


def test_the_picture_is_well_formed_and_described_for_those_who_cannot_see_it() -> None:
    root = ElementTree.parse(ROOT / "docs" / "images" / "journey.svg").getroot()

    assert root.find("{*}title") is not None and root.find("{*}desc") is not None
    assert "prefers-color-scheme: dark" in "".join(root.find("{*}style").itertext())  # type: ignore[union-attr]


def test_the_notice_names_every_vendored_package_with_its_version() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    packages = json.loads((ROOT / "static" / "vendor" / "MANIFEST.json").read_text(encoding="utf-8"))["packages"]

    assert [package["name"] for package in packages if package["version"] not in notice] == []


def test_the_settings_page_has_one_row_for_each_setting_with_its_default_and_meaning() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))

    assert shown == {str(field.alias): _row(field) for field in Environment.model_fields.values()}


def _row(field: Any) -> str:
    default = "0" if field.default is False else str(field.default).replace(f"{ROOT}/", "")
    return f"`{default}` | {field.description}" if default else f" | {field.description}"


def test_the_deployment_page_shows_the_commands_that_up_runs() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    parts = [processes.web(), processes.decide_worker(), processes.search_worker(), processes.ledger_worker()]

    assert [shown for part in [*parts, processes.scheduler()] if (shown := f"`{' '.join(part)}`") not in text] == []


def test_the_page_of_roles_says_what_the_table_says():
    written = (ROOT / "docs" / "roles.md").read_text(encoding="utf-8")

    assert written == roles_page.page(), "run: python3 manage.py roles_page --to docs/roles.md"
