"""Run stores: keep runs as files in a folder or a branch, so that a history can be measured without a service."""
