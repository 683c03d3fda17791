"""Runs a function in a background thread; meant for functions that mostly wait."""

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def start_in_background(work: Callable[[], Result]) -> Callable[[], Result]:
    """Start a function in its own thread.

    ``concurrent.futures`` does the same, but importing it takes longer than most of the work started here.

    Returns
    -------
    Callable
        A function that waits for ``work`` to end, and returns its result or raises its exception.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def keep_result() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=keep_result, daemon=True)
    thread.start()

    def wait_for_result() -> Result:
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    return wait_for_result
