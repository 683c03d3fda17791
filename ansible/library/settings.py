#!/usr/bin/python
"""Ansible module that sets files of /proc and /sys, each of which contains one setting."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: settings
short_description: Sets files of /proc and /sys, where the machine has them
description:
  - Reads each file, writes those that contain another value, and reads them again.
  - A file that the machine does not have, or that says that it cannot be set, is left out.
options:
  settings:
    description: The settings.
    type: list
    elements: dict
    required: true
    suboptions:
      path: {description: The file; C(*) in it stands for several files., type: str, required: true}
      value: {description: The value to set., type: str, required: true}
      name: {description: The name of the setting in C(held)., type: str}
      shown: {description: "The value of the setting in C(held), if it differs from C(value).", type: str}
"""

RETURN = """
held: {description: "The value of each setting that this machine has, by name.", type: dict, returned: always}
absent: {description: Files that this machine does not have., type: list, returned: always}
"""

# The values of smt/control on a machine whose threads cannot be switched.
UNSUPPORTED_VALUES = {"notsupported", "notimplemented", "forceoff"}


def extract_choice(text: str) -> str:
    """Return the word in brackets if a file lists its choices, otherwise its whole text."""
    return text.partition("[")[2].partition("]")[0] if "[" in text else text.strip()


def read_setting(path: str) -> str | None:
    """Return the value in a file; None if it cannot be read, or the machine does not support the setting."""
    try:
        value = extract_choice(Path(path).read_text(encoding="ascii", errors="replace"))
    except OSError:
        return None
    return None if value in UNSUPPORTED_VALUES else value


def write_setting(path: str, value: str) -> None:
    """Write a value to a file; raise OSError if the kernel refuses it."""
    Path(path).write_text(value, encoding="ascii")


def main() -> None:
    """Set the files that have other values, in order; after a failure, the files before it stay set."""
    setting_options = {
        "path": {"type": "str", "required": True},
        "value": {"type": "str", "required": True},
        "name": {"type": "str"},
        "shown": {"type": "str"},
    }
    module = AnsibleModule(
        {"settings": {"type": "list", "elements": "dict", "options": setting_options, "required": True}},
        supports_check_mode=True,
    )
    held: dict[str, str] = {}
    absent: list[str] = []
    before: list[str] = []
    after: list[str] = []
    for setting in module.params["settings"]:
        files = sorted(map(str, Path("/").glob(setting["path"].lstrip("/"))))
        values = {path: value for path in files if (value := read_setting(path)) is not None}
        if not values:
            absent.append(setting["path"])
            continue
        for path, value in values.items():
            if value == setting["value"]:
                continue
            before.append(f"{path} {value}\n")
            after.append(f"{path} {setting['value']}\n")
            if not module.check_mode:
                try:
                    write_setting(path, setting["value"])
                except OSError as error:
                    module.fail_json(f"{path} is still {value!r}: {setting['value']!r} was refused: {error.strerror}")
                if read_setting(path) != setting["value"]:
                    module.fail_json(f"{path} is still {value!r} after {setting['value']!r} was written")
        if setting["name"]:
            held[setting["name"]] = setting["shown"] or setting["value"]
    module.exit_json(
        changed=bool(before),
        held=held,
        absent=absent,
        diff={"before": "".join(before), "after": "".join(after)} if before else {},
    )


if __name__ == "__main__":
    main()
