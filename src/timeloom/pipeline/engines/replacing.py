"""A directory at an address that is replaced at once: Spark writes the new one aside, Arrow renames.

Beside ``place/name`` stands ``place/.name.timeloom`` for the time of a change. The new files are written to ``new`` in
it, and counted; then the old directory is renamed to ``old`` in it, the new one takes its place, and the rest is
removed. A change that was cut off before the renames is undone by the next run. One that was cut off between them,
where neither stands in its place, is completed.
"""

from pyarrow.fs import FileSystem, FileType

from timeloom.errors import StorageError, UsageError
from timeloom.pipeline.definition.stores import Store


class Replacement:
    """The change of one directory, and what is left of a change that was cut off."""

    def __init__(self, place: str) -> None:
        address = place.rstrip("/")
        above, _, name = address.rpartition("/")
        self.new_address = f"{above}/.{name}.timeloom/new"
        try:
            self.files, self.place = FileSystem.from_uri(address)
        except (OSError, ValueError, NotImplementedError) as error:
            why = str(error).partition("\n")[0]
            raise UsageError(
                f"{place!r} cannot be replaced: this program does not reach its store ({why}); for hdfs set JAVA_HOME, "
                "HADOOP_HOME, ARROW_LIBHDFS_DIR and CLASSPATH (hadoop classpath --glob), or take mode: append with a "
                "batch"
            ) from error
        inside = self.place.rpartition("/")[0]
        self.aside = f"{inside}/.{name}.timeloom"
        self.new, self.old = f"{self.aside}/new", f"{self.aside}/old"

    def recover(self) -> None:
        """Complete a change that was cut off between its renames, undo one that was cut off before; clear away."""
        if not self._is_there(self.aside):
            return
        if self._is_there(self.old) and not self._is_there(self.place):
            self._rename(self.new if self._is_there(self.new) else self.old, self.place)
        self._remove(self.aside)

    def take_place(self) -> None:
        """Let what was written to ``new`` be the directory; if that fails, the old one is back."""
        if not self._is_there(self.new):
            raise StorageError(
                f"{self.place!r} was not changed: Spark wrote beside it, but this program does not see what it wrote; "
                "run it on a machine for which the address means the same as for Spark"
            )
        replaces = self._is_there(self.place)
        if replaces:
            self._rename(self.place, self.old)
        try:
            self._rename(self.new, self.place)
        except OSError as error:
            if replaces:
                self._rename(self.old, self.place)
            raise StorageError(f"{self.place!r} cannot be replaced ({error}); it is as it was") from error
        self._remove(self.aside)

    def _is_there(self, path: str) -> bool:
        return bool(self.files.get_file_info(path).type != FileType.NotFound)

    def _rename(self, path: str, to: str) -> None:
        self.files.move(path, to)

    def _remove(self, path: str) -> None:
        self.files.delete_dir(path)


def recover_replaced(store: Store) -> None:
    """See to it, before anything runs, that a store of plain files can be replaced, and to what a killed run left."""
    if store.holds_files and store.mode == "overwrite":
        Replacement(store.path or "").recover()
