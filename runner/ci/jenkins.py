"""Jenkins."""

from collections.abc import Collection

from runner.ci.system import CiSystem, Place, has_mark

_FILE = "Jenkinsfile"


def _place(files: Collection[str]) -> Place:
    path = "Jenkinsfile.faultwatch" if has_mark(files, _FILE) else _FILE
    return Place(path, f"create a multibranch pipeline that reads {path}, and give an agent the label faultwatch")


JENKINS = CiSystem("jenkins", "jenkins.groovy", _place, marks=(_FILE,))
