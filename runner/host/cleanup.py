"""Removes what commands left behind because they were killed, or because the power failed."""

from contextlib import suppress

from runner.contract.code_trust import BuildStore
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.rcu_grace_period import restore_grace_period
from runner.reporting.spool import Spool
from runner.settings import Settings
from runner.subject.build_folders import BuildFolders
from runner.subject.subject_registry import remove_partial_entries
from runner.system.scratch import remove_abandoned_folders
from runner.system.tree import Tree


def remove_leftovers(settings: Settings) -> None:
    """Remove the leftovers of killed commands: kernel settings, control groups, temporary folders, unfinished builds.

    Only files and processes of this user are removed. Leftovers that cannot be removed stay until the next command.
    """
    tree = Tree()
    restore_grace_period(tree)
    MemoryGroup(limit=None, tree=tree).remove_abandoned_groups()
    # None is the folder of temporary files.
    for folder in (None, settings.programs, settings.copies, settings.clones):
        remove_abandoned_folders(folder)
    for store in BuildStore:
        with suppress(OSError):
            BuildFolders(settings.builds, store).remove_unfinished_builds()
    Spool(settings.spool).remove_abandoned_files()
    remove_partial_entries(settings)
