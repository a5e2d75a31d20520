"""Talk about tools is no order to use them: identifiers in prose, questions about what erases, twins, small talk."""

from __future__ import annotations

from typing import Any

import pytest

from routing.engine import load_registry, resolve
from tests.engine.tools import document, endpoint, tool


def cluster() -> Any:
    return load_registry(
        document(
            endpoint(
                "cluster",
                tool("list_pods", "List the pods of a namespace."),
                tool("delete_pod", "Delete one pod.", annotations={"destructiveHint": True}),
                tool("restart_service", "Restart a service without losing requests."),
            ),
            endpoint(
                "notes", tool("create_note", "Write down a note."), tool("find_note", "Find notes by their words.")
            ),
        )
    )


@pytest.mark.parametrize(
    "query",
    [
        "the function delete_pod in src/cluster.py is slow",
        "what does delete_pod do?",
        "rename the method createNote to writeNote",
        "rename the class CreateNote to WriteNote",
        "fix the bug in restart_service",
        "write documentation for list_pods",
        "replace restart_service with delete_pod in the script",
    ],
)
def test_an_identifier_that_is_talked_about_is_not_asked_for(query: str) -> None:
    assert resolve(cluster(), query)["status"] != "confident"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("delete_pod", "cluster__delete_pod"),
        ("call delete_pod for web-1", "cluster__delete_pod"),
        ("use create_note", "notes__create_note"),
        ("restart_service billing", "cluster__restart_service"),
    ],
)
def test_an_identifier_that_is_called_is_asked_for(query: str, named: str) -> None:
    answer = resolve(cluster(), query)
    assert answer["recommendation"]["namespaced"] == named
    assert answer["status"] == "confident"


@pytest.mark.parametrize("query", ["did you delete the pod?", "how do I delete a pod?", "was the pod deleted?"])
def test_a_question_never_leads_to_erasing_with_confidence(query: str) -> None:
    answer = resolve(cluster(), query)
    assert answer["status"] != "confident"
    assert resolve(cluster(), "delete the pod")["status"] == "confident"


@pytest.mark.parametrize(
    "query",
    [
        "how was your weekend?",
        "good morning, how are you today?",
        "how is everything going?",
        "you are the best assistant ever",
        "you are really helpful",
    ],
)
def test_asking_after_somebody_and_compliments_are_no_request(query: str) -> None:
    answer = resolve(cluster(), query)
    assert answer["status"] == "no_match"
    assert answer["reason_codes"] == ["not_a_request"]


@pytest.mark.parametrize("query", ["how is the service today?", "how are the pods doing?"])
def test_asking_after_a_thing_is_a_request(query: str) -> None:
    assert "not_a_request" not in resolve(cluster(), query)["reason_codes"]


def test_twins_share_the_chance_wherever_they_stand_close_behind() -> None:
    catalog = load_registry(
        document(
            endpoint("files", tool("read_file", "Read a file."), tool("read_file_list", "Read the list of files.")),
            endpoint("desk", tool("read_file", "Read a file from disk.")),
        )
    )
    answer = resolve(catalog, "read the file")
    assert answer["status"] == "ambiguous"
    assert "functional_twins" in answer["reason_codes"]
    assert answer["probability"] <= answer["match_probability"] / 2 + 1e-4


def test_a_new_thing_is_asked_for_like_a_thing_in_german() -> None:
    plain, new = (resolve(cluster(), query) for query in ("erstelle eine notiz", "erstelle eine neue notiz"))
    assert plain["recommendation"]["namespaced"] == new["recommendation"]["namespaced"] == "notes__create_note"


def test_the_flips_name_thresholds_that_do_flip() -> None:
    answer = resolve(cluster(), "find a note", explain=True)
    assert answer["status"] == "confident"
    said = next(text for text in answer["explanation"]["flips"] if text.startswith("With confident_at"))
    threshold = float(said.split(" at ")[1].split()[0])
    assert answer["probability"] < threshold <= answer["probability"] + 0.011
