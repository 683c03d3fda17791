"""Gets a diagnosis from the rules of the service, without a server or a database."""

import subprocess
from collections.abc import Callable

from pydantic import ValidationError

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.errors import FaultwatchError
from runner.execution.execution_log import log_command
from runner.execution.own_command import SAFE_DIRECTORY, build_module_command, build_own_environment

_TIMEOUT_SECONDS = 120.0


def diagnose_locally(request: DiagnosisRequest, before_execution: Callable[[], None] | None = None) -> Diagnosis:
    """Return the diagnosis of a profile.

    Parameters
    ----------
    before_execution
        Called in the new process before it becomes the service.

    Raises
    ------
    FaultwatchError
        The service is not installed, or fails; the message contains its last line of output.
    """
    command = build_module_command("service", "diagnose")
    log_command(command)
    try:
        result = subprocess.run(
            command,
            input=request.model_dump_json().encode(),
            env=build_own_environment(),
            cwd=SAFE_DIRECTORY,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
            preexec_fn=before_execution,
        )
        return Diagnosis.model_validate_json(result.stdout)
    except subprocess.TimeoutExpired:
        raise FaultwatchError(
            f"the diagnosis did not finish within {_TIMEOUT_SECONDS:.0f} s", "try again when this machine is less busy"
        ) from None
    except ValidationError:
        lines = result.stderr.decode(errors="replace").strip().splitlines() or ["it printed nothing"]
        message = lines[-1].removeprefix("faultwatch-service: ").strip()
        raise FaultwatchError(f"the profile could not be diagnosed: {message}") from None
