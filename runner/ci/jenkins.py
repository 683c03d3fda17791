"""Jenkins."""

from collections.abc import Collection

from runner.ci.system import CiSystem, Place, find_marked_file

_FILE = "Jenkinsfile"


def _choose_place(files: Collection[str]) -> Place:
    path = "Jenkinsfile.faultwatch" if find_marked_file(files, _FILE) else _FILE
    return Place(path, f"create a multibranch pipeline that reads {path}, and add the label faultwatch to an agent")


JENKINS = CiSystem("jenkins", "jenkins.groovy", _choose_place, marks=(_FILE,))
