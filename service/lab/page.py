"""The page of a settings lab: one case at one commit, under combinations of settings. A click orders an empty cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from runner.contract import get_metric
from runner.contract.allocators import ALLOCATOR_LIBRARIES
from runner.contract.job import Backend, JobOrder, Where
from service.jobs.extension import find_scheduler
from service.lab import lab_address
from service.lab.lab_address import LabAddress
from service.lab.read_lab import DEFAULT_PAIRS, LabProblem
from service.lab.rules import setting_names
from service.lab.schemas import CellState, LabCell, SettingsLab
from service.pipeline import check_bisect_form
from service.rules.access.scope import Scope
from service.rules.jobs.job_settings import HUGE_PAGES, POLICIES, PRELOAD
from service.store import jobs
from service.store.jobs import JobFilter, Requester
from service.store.revisions import refs
from service.web import job_orders
from service.web.access import authorization
from service.web.access.author import find_author
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("lab")

_MAX_COMPLETIONS = 200
_MAX_JOBS = 200
_ARENAS_VARIABLE = "variable.MALLOC_ARENA_MAX"
_OFFERED_SETTINGS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "allocators": ("Other allocators", PRELOAD, tuple(ALLOCATOR_LIBRARIES)),
    "pages": ("Huge pages", HUGE_PAGES, POLICIES),
    "arenas": ("One arena", _ARENAS_VARIABLE, ("1",)),
}
"""Settings that can be added by a click: the text of the link, the setting, and its values."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A link that adds a setting."""

    text: str
    address: str


@page(bp, "/lab")
def show() -> Page:
    """Show the lab of a case at a commit."""
    context = _build_context(LabAddress.from_query(request.args))
    lab: SettingsLab | None = context["lab"]
    return Page(
        "lab/lab.html",
        context,
        document=lambda: lab or {"problem": context["problem"]},
        table=lambda: _build_table(lab),
    )


@bp.post("/lab/orders")
def order() -> ResponseReturnValue:
    """Order one empty cell, or all of them, with the buttons of the page."""
    address = LabAddress.from_query(request.args)
    form = forms.read_form()
    with get_database().reading() as session:
        try:
            lab = lab_address.read_lab_at(session, address)
        except LabProblem as problem:
            abort(HTTPStatus.UNPROCESSABLE_ENTITY, str(problem))
    questions = [
        cell.question
        for cell in _list_cells(lab)
        if cell.question is not None and _is_chosen(cell, form.get("cell", ""))
    ]
    if not questions:
        return _show_problem(address, "There is nothing left to order: no unmeasured cell matches this order.")
    orders = [forms.build_order(question, form["author"]) for question in questions]
    requester = Requester(find_author(form["author"] or None), Where.DASHBOARD)
    for job_order in orders:
        job_orders.place_order(job_order, requester)
    return redirect(url_for("lab.show", **address.arguments), HTTPStatus.SEE_OTHER)  # type: ignore[arg-type]


def _is_chosen(cell: LabCell, key: str) -> bool:
    """Return whether a button orders a cell: with a key, only the cell with this key; without one, every empty cell."""
    return cell.key == key if key else cell.state is CellState.EMPTY


def _show_problem(address: LabAddress, problem: str) -> ResponseReturnValue:
    context = _build_context(address) | {"problem": problem}
    return render_template("lab/lab.html", **context), HTTPStatus.UNPROCESSABLE_ENTITY


def _build_context(address: LabAddress) -> dict[str, Any]:
    """Return the context of the template: the lab at an address, or the problem with the address."""
    lab, wrong_field, problem = None, "", ""
    with get_database().reading() as session:
        try:
            lab = lab_address.read_lab_at(session, address)
        except LabProblem as error:
            wrong_field, problem = error.field, str(error)
        subject = lab.subject if lab else address.subject
        completions = check_bisect_form.list_known_names(session, subject, _MAX_COMPLETIONS)
        ref_list = refs.list_refs(session, subject or None, _MAX_COMPLETIONS)
        open_jobs = jobs.list_page(session, JobFilter(open=True), _MAX_JOBS).items if lab else ()
    return {
        "lab": lab,
        "address": address,
        "wrong_field": wrong_field,
        "problem": problem,
        "completions": completions,
        "refs": ref_list,
        "added_arguments": {name: value for name, value in address.arguments.items() if name in {"set", "environment"}},
        "axis_arguments": {name: value for name, value in address.arguments.items() if name in {"rows", "columns"}},
        "offers": _list_offers(address, lab) if lab else [],
        "removable": _list_removals(address, lab) if lab else {},
        "may_order": lab is not None and not lab.refusal and authorization.find_caller().may(Scope.ORDER),
        # An open job without a host may run on this one.
        "n_jobs_ahead": sum((job.host or job.question.host) in {None, lab.host} for job in open_jobs) if lab else 0,
        "has_no_starter": _has_no_starter(lab) if lab else False,
        "pairs": DEFAULT_PAIRS,
        "order_arguments": _build_address(address, lab).arguments if lab else {},
    }


def _has_no_starter(lab: SettingsLab) -> bool:
    """Return whether no backend starts jobs of this host, so that a person has to start them."""
    question = next((cell.question for cell in _list_cells(lab) if cell.question is not None), None)
    return question is not None and find_scheduler().choose_backend(JobOrder(question=question)) is Backend.CALLER


def _list_offers(address: LabAddress, lab: SettingsLab) -> list[Offer]:
    """Return the links that add a setting whose values are not all measured yet."""
    measured_values = {(setting.name, value) for setting in lab.settings for value in setting.values}
    full_address = _build_address(address, lab)
    return [
        Offer(text, url_for("lab.show", **full_address.add_values(name, values).arguments))  # type: ignore[arg-type]
        for text, name, values in _OFFERED_SETTINGS.values()
        if not {(name, setting_names.read_value(name, value)) for value in values} <= measured_values
    ]


def _list_removals(address: LabAddress, lab: SettingsLab) -> dict[str, str]:
    """Return for each added setting, by its name, the address of the lab without it."""
    try:
        added_values = address.read_added_values()
    except LabProblem:
        return {}  # The page shows this problem elsewhere.
    full_address = _build_address(address, lab)
    return {name: url_for("lab.show", **full_address.remove_setting(name).arguments) for name in added_values}  # type: ignore[arg-type]


def _build_address(address: LabAddress, lab: SettingsLab) -> LabAddress:
    """Return the address of the shown lab with all arguments written out, so that links always lead to this lab."""
    arguments = address.arguments | {
        "subject": lab.subject,
        "case": lab.case,
        "host": lab.host,
        "commit": lab.commit[:12],
    }
    return LabAddress.from_query(arguments | {"rows": " ".join(lab.rows), "columns": " ".join(lab.columns)})


def _list_cells(lab: SettingsLab | None) -> list[LabCell]:
    return [cell for row in lab.cells for cell in row] if lab else []


def _build_table(lab: SettingsLab | None) -> Table:
    """Return the lab as a table for CSV: a row for each metric of each cell."""
    names = [*(lab.rows if lab else ()), *(lab.columns if lab else ())]
    columns = (
        *("state", "default", "run", "session", "metric", "unit", "level", "n", "change", "percent"),
        *("certainty", "low_percent", "high_percent", "effect", "sentence"),
    )
    rows: list[tuple[object, ...]] = []
    for cell in _list_cells(lab):
        values = tuple(cell.values.get(name) for name in names)
        cell_fields = (*values, cell.state.value, cell.default, cell.run_id, cell.session)
        if not cell.metrics:
            # A cell without metrics has a value only in the last of the other columns, the sentence.
            n_empty = len(names) + len(columns) - len(cell_fields) - 1
            rows.append((*cell_fields, *[None] * n_empty, cell.sentence))
        for entry in cell.metrics:
            bounds = entry.bounds or (None, None)
            certainty = entry.certainty.value if entry.certainty else None
            metric_fields = (
                entry.metric,
                get_metric(entry.metric).unit,
                entry.level,
                entry.n,
                entry.change,
                entry.percent,
            )
            rows.append((*cell_fields, *metric_fields, certainty, *bounds, entry.effect.value, entry.sentence))
    return Table((*names, *columns), rows)
