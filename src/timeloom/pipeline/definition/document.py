"""A YAML file as plain data that remembers where everything stands."""

from typing import Any

import yaml

from timeloom.errors import StorageError
from timeloom.pipeline.definition.faults import Fault, PipelineError
from timeloom.pipeline.definition.limits import MOST_BYTES, MOST_FAULTS, TooMuchError, check_size, open_loader
from timeloom.pipeline.definition.secrets import Secrets

Path = tuple[str | int, ...]
"""The way from the top of a document to a value: keys and positions in lists."""

MOST_LETTERS = 100
"""Letters that a number or a date may have: to read one takes time that grows with the square of its length."""

_MERGE = "tag:yaml.org,2002:merge"


class Document:
    """The content of a file, with environment variables filled in, the places of its parts, and faults so far."""

    def __init__(self, file: str, text: str, secrets: Secrets) -> None:
        self.file = file
        self.secrets = secrets
        self.faults: list[Fault] = []
        self._places: dict[Path, tuple[int, int]] = {}
        self._keys: dict[Path, tuple[int, int]] = {}
        loader: Any = None
        try:
            check_size(text)
            loader = open_loader(text)
            node = loader.get_single_node()
            self.data: Any = {} if node is None else self._build(loader, node, (), [])
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            message = f"no valid YAML: {error.problem or error.context}"
            if "${" in "".join(text.splitlines()[line - 1 : line]):
                message += "; inside braces and brackets, put quotes around a text with ${…}"
            raise PipelineError(file, [Fault(line, column, "", secrets.mask(message))]) from None
        except yaml.YAMLError as error:
            raise PipelineError(file, [Fault(1, 1, "", f"no valid YAML: {' '.join(str(error).split())}")]) from None
        except TooMuchError as error:
            raise PipelineError(file, [Fault(error.line, error.column, "", str(error))]) from None
        finally:
            if loader is not None:
                loader.dispose()

    @classmethod
    def read(cls, file: str, secrets: Secrets) -> "Document":
        """Read a file."""
        try:
            with open(file, "rb") as opened:
                text = opened.read(MOST_BYTES + 1).decode("utf-8", errors="strict")
        except FileNotFoundError as error:
            raise StorageError(f"{file!r} does not exist; check the path") from error
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"{file!r} cannot be read: {error}") from error
        return cls(file, text, secrets)

    def blame(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note a fault at a value, or at its key; where the path leads nowhere, at the nearest part above."""
        places = self._keys if key else self._places
        at: Path = path
        while at and at not in places:
            at, places = at[:-1], self._places if at[:-1] in self._places else self._keys
        line, column = places.get(at, (1, 1))
        where = ".".join(str(part) for part in path)
        self.faults.append(Fault(line, column, where, self.secrets.mask(message)))
        if len(self.faults) >= MOST_FAULTS:
            self.finish()

    def finish(self) -> None:
        """Raise if there were faults."""
        if self.faults:
            raise PipelineError(self.file, self.faults)

    def _build(self, loader: Any, node: yaml.Node, path: Path, above: list[yaml.Node]) -> Any:
        self._places.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        if node in above:
            self.blame(path, "a part that contains itself")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._build_mapping(loader, node, path, [*above, node])
        if isinstance(node, yaml.SequenceNode):
            parts = enumerate(node.value)
            return [self._build(loader, part, (*path, number), [*above, node]) for number, part in parts]
        if len(node.value) > MOST_LETTERS and not node.tag.endswith(":str"):
            self.blame(path, f"a number or date of {len(node.value):,} letters; put quotes around a text")
            return None
        try:
            value = loader.construct_object(node)
        except (ValueError, OverflowError) as error:
            self.blame(path, f"{node.value!r} is no number or date ({error}); put quotes around a text")
            return None
        if not isinstance(value, str):
            return value
        try:
            return self.secrets.fill(value)
        except LookupError as error:
            self.blame(path, str(error.args[0]))
            return value

    def _build_mapping(self, loader: Any, node: yaml.MappingNode, path: Path, above: list[yaml.Node]) -> dict[str, Any]:
        own = [key for key, _ in node.value if key.tag != _MERGE]
        seen: set[str] = set()
        for key in own:
            name = str(key.value)
            if name in seen:
                self._keys[(*path, name)] = (key.start_mark.line + 1, key.start_mark.column + 1)
                self.blame((*path, name), "given twice; only one may stand", key=True)
            seen.add(name)
        loader.flatten_mapping(node)
        result: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            self._keys[(*path, name)] = (key.start_mark.line + 1, key.start_mark.column + 1)
            result[name] = self._build(loader, value, (*path, name), above)
        return result
