"""What somebody reads who waits for a job."""

from service.rules.jobs.job_words import job_words


def test_whom_one_waits_for() -> None:
    said = "a profile of copy[mib=8], which the service ordered by itself"
    assert job_words("profile", "copy[mib=8]", "service") == said
    assert job_words("bisect", "copy", "Ada") == "a bisect of copy, which Ada ordered"
    assert job_words("measure", "copy", "") == "a measurement of copy"
