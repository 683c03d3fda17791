"""Parses and builds the address of a settings lab, for the page and the API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from sqlalchemy.orm import Session

from runner.contract.number_text import capitalize_first_letter
from service.lab import read_lab
from service.lab.read_lab import LabProblem, LabQuery
from service.lab.rules import setting_names
from service.lab.rules.setting_names import Value
from service.lab.schemas import SettingsLab
from service.rules.jobs import job_settings

SEPARATOR = "|"
"""Separates the values to measure: no value that a job may set contains this character."""
_AXIS_PREFIX = "place."
_MIN_PAIRS, _MAX_PAIRS = 2, 1000
_MAX_ADDED_VALUES = 100


@dataclass(frozen=True, slots=True)
class LabAddress:
    """The arguments in an address.

    Attributes
    ----------
    rows, columns
        Names of settings, separated by spaces.
    set
        The values to measure: ``NAME=VALUE``, separated by :data:`SEPARATOR`.
    """

    subject: str = ""
    case: str = ""
    host: str = ""
    commit: str = ""
    rows: str = ""
    columns: str = ""
    set: str = ""
    environment: str = ""
    pairs: str = ""

    @classmethod
    def from_query(cls, arguments: Mapping[str, str]) -> LabAddress:
        """Return the address from the arguments of a query; unknown arguments are ignored.

        The form of the page sends ``place.NAME`` for each setting, and ``name`` and ``values`` for a setting to add.
        """
        texts = {name: arguments.get(name, "").strip() for name in cls.__dataclass_fields__}
        axis_of_setting = {
            name.removeprefix(_AXIS_PREFIX): axis for name, axis in arguments.items() if name.startswith(_AXIS_PREFIX)
        }
        if axis_of_setting:
            texts["rows"] = " ".join(name for name, axis in axis_of_setting.items() if axis == "rows")
            texts["columns"] = " ".join(name for name, axis in axis_of_setting.items() if axis == "columns")
        address = cls(**texts)
        added_name = arguments.get("name", "").strip()
        if not added_name:
            return address
        values = _parse_values(added_name, arguments.get("values", "").strip())
        return address.add_values(setting_names.find_canonical_name(added_name), values)

    def add_values(self, name: str, values: Iterable[str]) -> LabAddress:
        """Return the address with further values of a setting, which becomes a setting of the rows or columns."""
        entries = [*filter(None, self.set.split(SEPARATOR)), *(f"{name}={value}" for value in values)]
        rows, columns = self.rows.split(), self.columns.split()
        # If neither rows nor columns are chosen, the lab chooses them itself. Otherwise add the setting to one of them.
        if (rows or columns) and name not in {*rows, *columns}:
            axis = rows if columns else columns
            axis.append(name)
        return replace(self, set=SEPARATOR.join(dict.fromkeys(entries)), rows=" ".join(rows), columns=" ".join(columns))

    def remove_setting(self, name: str) -> LabAddress:
        """Return the address without a setting: without its values, and without its place in the rows or columns.

        ``name`` is the canonical name, which the rows and columns contain too.
        """
        entries = [
            entry
            for entry in self.set.split(SEPARATOR)
            if entry and setting_names.find_canonical_name(entry.partition("=")[0].strip()) != name
        ]
        rows = " ".join(row for row in self.rows.split() if row != name)
        columns = " ".join(column for column in self.columns.split() if column != name)
        return replace(self, set=SEPARATOR.join(entries), rows=rows, columns=columns)

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of the query, without empty ones."""
        return {name: value for name, value in asdict(self).items() if value}

    def read_added_values(self) -> dict[str, list[Value]]:
        """Return the values to measure, by the name of the setting.

        Raises
        ------
        LabProblem
            There are too many values, or one does not have the form NAME=VALUE, or is not valid for its setting.
        """
        values: dict[str, list[Value]] = {}
        entries = [entry for entry in self.set.split(SEPARATOR) if entry.strip()]
        if len(entries) > _MAX_ADDED_VALUES:
            raise LabProblem(
                "set", f"{len(entries):,} values are to be measured; at most {_MAX_ADDED_VALUES} are allowed."
            )
        for entry in entries:
            name, equals, text = entry.strip().partition("=")
            if not equals or not name:
                raise LabProblem("set", f"{entry!r} does not have the form NAME=VALUE.")
            name = setting_names.find_canonical_name(name)
            try:
                value = setting_names.read_value(name, text)
            except ValueError as error:
                raise LabProblem("set", f"{setting_names.format_title(name)}: {error}.") from None
            if objection := job_settings.explain_objection(name, value):
                raise LabProblem("set", f"{capitalize_first_letter(objection)}.")
            values.setdefault(name, []).append(value)
        return values

    def build_query(self) -> LabQuery:
        """Return the query for the lab: the axes, the values to add, and the number of pairs.

        Raises
        ------
        LabProblem
            A part of the address is not valid.
        """
        is_number = self.pairs.isdecimal() and len(self.pairs) <= len(str(_MAX_PAIRS))
        if self.pairs and not (is_number and _MIN_PAIRS <= int(self.pairs) <= _MAX_PAIRS):
            raise LabProblem("pairs", f"The number of pairs must be from {_MIN_PAIRS} to {_MAX_PAIRS}.")
        rows = [setting_names.find_canonical_name(name) for name in self.rows.split()]
        columns = [setting_names.find_canonical_name(name) for name in self.columns.split()]
        return LabQuery(
            rows=rows,
            columns=columns,
            added=self.read_added_values(),
            environment=self.environment,
            pairs=int(self.pairs) if self.pairs else None,
        )


def _parse_values(name: str, text: str) -> list[str]:
    """Return the values that a person entered into one input field; only variables can contain commas and spaces."""
    is_listed = setting_names.find_canonical_name(name) in setting_names.LISTED_SETTINGS
    separators = r"[|,\s]+" if is_listed else r"\|"
    values = [value.strip() for value in re.split(separators, text) if value.strip()]
    return values or [""]  # An empty field means the empty value, which a variable can have.


def read_lab_at(session: Session, address: LabAddress) -> SettingsLab | None:
    """Return the lab at an address; None if nothing was measured yet.

    Raises
    ------
    LabProblem
        There is no such lab.
    """
    query = address.build_query()
    target = read_lab.resolve_target(session, address.subject, address.case, address.host, address.commit)
    if target is None:
        return None
    try:
        return read_lab.read_lab(session, target, query)
    except ValueError as error:
        raise LabProblem("rows", f"{error}.") from None
