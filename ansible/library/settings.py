#!/usr/bin/python
"""Ansible module: files of /proc and /sys that hold one setting each."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: settings
short_description: Sets files of /proc and /sys, where the machine has them
description:
  - Reads each file, writes those that hold something else, and reads them again.
  - A file that the machine does not have, or that says that it cannot be set, is left out.
options:
  settings:
    description: The settings.
    type: list
    elements: dict
    required: true
    suboptions:
      path: {description: The file; may hold C(*) for several., type: str, required: true}
      value: {description: What it is to hold., type: str, required: true}
      name: {description: The setting by this name in C(held)., type: str}
      shown: {description: How the setting's value is named in C(held) where it is set., type: str}
"""

RETURN = """
held: {description: Setting to value, of those that this machine has., type: dict, returned: always}
absent: {description: Files that this machine does not have., type: list, returned: always}
"""

# What smt/control says where there is nothing to switch.
CANNOT = {"notsupported", "notimplemented", "forceoff"}


def extract_choice(text: str) -> str:
    """Return the word in brackets of a file that lists its choices, else all of it."""
    return text.partition("[")[2].partition("]")[0] if "[" in text else text.strip()


def read_setting(path: str) -> str | None:
    """Return what a file holds; None if it cannot be read, or says that the machine cannot set it."""
    try:
        value = extract_choice(Path(path).read_text(encoding="ascii", errors="replace"))
    except OSError:
        return None
    return None if value in CANNOT else value


def write_setting(path: str, value: str) -> None:
    """Set a file; an OSError if the kernel refuses the value."""
    Path(path).write_text(value, encoding="ascii")


def main() -> None:
    """Set the files that differ, in order; the first that cannot be set ends the module, and those before it stay."""
    setting = {
        "path": {"type": "str", "required": True},
        "value": {"type": "str", "required": True},
        "name": {"type": "str"},
        "shown": {"type": "str"},
    }
    module = AnsibleModule(
        {"settings": {"type": "list", "elements": "dict", "options": setting, "required": True}},
        supports_check_mode=True,
    )
    held: dict[str, str] = {}
    absent: list[str] = []
    before: list[str] = []
    after: list[str] = []
    for wanted in module.params["settings"]:
        found = {path: read_setting(path) for path in sorted(map(str, Path("/").glob(wanted["path"].lstrip("/"))))}
        present = {path: value for path, value in found.items() if value is not None}
        if not present:
            absent.append(wanted["path"])
            continue
        for path, value in present.items():
            if value == wanted["value"]:
                continue
            before.append(f"{path} {value}\n")
            after.append(f"{path} {wanted['value']}\n")
            if not module.check_mode:
                try:
                    write_setting(path, wanted["value"])
                except OSError as error:
                    module.fail_json(f"{path} is still {value!r}: {wanted['value']!r} was refused: {error.strerror}")
                if read_setting(path) != wanted["value"]:
                    module.fail_json(f"{path} is still {value!r} after {wanted['value']!r} was written")
        if wanted["name"]:
            held[wanted["name"]] = wanted["shown"] or wanted["value"]
    module.exit_json(
        changed=bool(before),
        held=held,
        absent=absent,
        diff={"before": "".join(before), "after": "".join(after)} if before else {},
    )


if __name__ == "__main__":
    main()
