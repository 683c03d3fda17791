"""Jenkins."""

from collections.abc import Collection

from runner.ci.system import CiSystem, FileLocation, find_marked_file

_FILE = "Jenkinsfile"


def _choose_location(files: Collection[str]) -> FileLocation:
    """Return another file than the ``Jenkinsfile`` if the repository has one of its own."""
    path = "Jenkinsfile.faultwatch" if find_marked_file(files, _FILE) else _FILE
    return FileLocation(
        path, f"create a multibranch pipeline that reads {path}, and add the label faultwatch to an agent"
    )


JENKINS = CiSystem("jenkins", "jenkins.groovy", _choose_location, marker_paths=(_FILE,))
