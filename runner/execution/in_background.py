"""Do something that mostly waits while something else is done."""

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def in_background(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin some work in a thread of its own.

    ``concurrent.futures`` would do; importing it takes longer than most of what is done here.

    Returns
    -------
    Callable
        Waits for the work to end and returns its result, or raises what it raised.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def carry_out() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=carry_out, daemon=True)
    thread.start()

    def result() -> Result:
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    return result
