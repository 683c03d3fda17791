"""Writes the verdict of a gate in the formats that CI systems read: JUnit, GitLab's code quality, SARIF."""
