"""Addresses of the console. Every address names its workspace, so that a link means the same to everybody."""

from __future__ import annotations

from django.urls import include, path

from control.web import (
    audit,
    capabilities,
    capability_edits,
    decisions,
    endpoint_edits,
    endpoints,
    overview,
    palette,
    policies,
    policy_edits,
    publish,
    revisions,
    scopes,
    session,
    shortcuts,
    tools,
)

rooms = [
    path("", overview.overview, name="overview"),
    path("go", palette.go, name="go"),
    path("shortcuts", shortcuts.page, name="shortcuts"),
    path("panels/figures", overview.figures_panel, name="panel-figures"),
    path("panels/tail", overview.tail_panel, name="panel-tail"),
    path("decisions", decisions.listing, name="decisions"),
    path("decisions/<uuid:decision>", decisions.page, name="decision"),
    path("endpoints", endpoints.listing, name="endpoints"),
    path("endpoints/<str:name>", endpoints.page, name="endpoint"),
    path("endpoints/<str:name>/edit/<str:part>", endpoint_edits.edit, name="endpoint-edit"),
    path("tools", tools.listing, name="tools"),
    path("tools/<path:public>", tools.page, name="tool"),
    path("capabilities", capabilities.listing, name="capabilities"),
    path("capabilities/<str:name>", capabilities.page, name="capability"),
    path("capabilities/<str:name>/edit/<str:part>", capability_edits.edit, name="capability-edit"),
    path("coverage", capabilities.coverage, name="coverage"),
    path("scopes", scopes.listing, name="scopes"),
    path("scopes/<str:name>", scopes.page, name="scope"),
    path("policies", policies.listing, name="policies"),
    path("policies/<str:name>", policies.page, name="policy"),
    path("policies/<str:name>/edit/<str:part>", policy_edits.edit, name="policy-edit"),
    path("policies/<str:name>/delete", policy_edits.delete, name="policy-delete"),
    path("new/policy", policy_edits.create, name="policy-new"),
    path("publish", publish.page, name="publish"),
    path("publish/propose", publish.propose, name="propose"),
    path("publish/discard", publish.discard, name="discard"),
    path("revisions", revisions.listing, name="revisions"),
    path("revisions/compare", revisions.compare, name="compare"),
    path("revisions/<int:number>", revisions.page, name="revision"),
    path("revisions/<int:number>/export.yaml", revisions.export, name="revision-export"),
    path("audit", audit.listing, name="audit"),
    path("audit/verify", audit.verify, name="audit-verify"),
    path("audit/export.csv", audit.export, {"form": "csv"}, name="audit-csv"),
    path("audit/export.jsonl", audit.export, {"form": "jsonl"}, name="audit-jsonl"),
    path("audit/<int:seq>", audit.page, name="audit-entry"),
    path("revisions/<int:number>/review", revisions.review, name="review"),
    path("revisions/<int:number>/comment", revisions.comment, name="comment"),
    path("revisions/<int:number>/restore", revisions.restore, name="restore"),
]

urlpatterns = [
    path("", session.home, name="home"),
    path("sign-in", session.sign_in, name="sign-in"),
    path("sign-out", session.sign_out, name="sign-out"),
    path("theme", session.theme, name="theme"),
    path("zone", session.zone, name="zone"),
    path("w/<str:workspace>/", include(rooms)),
]
