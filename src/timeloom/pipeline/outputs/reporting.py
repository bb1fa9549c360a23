"""The report of a run as an output of the run: it changes together with the others, or tells why they stayed."""

from pathlib import Path
from typing import Any

from timeloom.errors import StorageError
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.outputs.staging import Outputs, Target
from timeloom.report.write import JSON, PAGE, render, write_report


class ReportFiles:
    """The files of a report."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.page = Path(directory) / PAGE
        self._targets: dict[str, Target] = {}

    def open(self, outputs: Outputs) -> None:
        """Lock both files, and make sure that they can be written."""
        for name in (JSON, PAGE):
            if name not in self._targets:
                self._targets[name] = outputs.add(f"{self.directory}/{name}", is_file=True)
                self._targets[name].staging.touch()
                self._targets[name].staging.unlink()

    def stage(self, run: dict[str, Any]) -> None:
        """Write both files beside their places."""
        try:
            texts = render(run)
        except Exception as error:
            raise StorageError(f"the report cannot be made, so nothing was changed: {one_line(error)}") from error
        for name, text in texts.items():
            self._targets[name].staging.write_text(text, encoding="utf-8")

    def tell_failure(self, run: dict[str, Any], outputs: Outputs, error: BaseException) -> None:
        """Write the report of a run that failed; where that fails, too, the error gets a note about it."""
        if outputs.committed:
            return
        try:
            self.open(outputs)
            write_report(run, self.directory)
        except Exception as second:
            error.add_note(f"there is no report of this run: {one_line(second)}")
