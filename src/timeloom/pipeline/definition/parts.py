"""One part of a pipeline file, read by its model."""

from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from timeloom.errors import did_you_mean
from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.document import Path as At
from timeloom.pipeline.definition.models import Part

P = TypeVar("P", bound=Part)


def read_part(document: Document, at: At, model: type[P], data: Any) -> P | None:
    """Read one part; its faults go to the document."""
    if not isinstance(data, dict):
        document.blame(at, f"expected a mapping, found {data!r}")
        return None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        known = _named(model)
        for fault in error.errors(include_url=False):
            where = (*at, *(part for part in fault["loc"] if isinstance(part, int) or part in _keys_of(data, known)))
            if fault["type"] == "extra_forbidden":
                inner = _named(_inner(model, fault["loc"]))
                document.blame(where, f"unknown key. {did_you_mean(str(fault['loc'][-1]), inner)}", key=True)
            elif fault["type"] == "missing" and fault["loc"] == ("format",):
                document.blame(at, "the format cannot be told from the path; give format", key=True)
            elif fault["type"] == "missing":
                document.blame(at, f"{fault['loc'][-1]} is missing", key=True)
            else:
                document.blame(where, fault["msg"].removeprefix("Value error, "))
        return None


def _named(model: type[Part]) -> list[str]:
    """The keys that a part may have."""
    return [str(field.validation_alias or field.alias or name) for name, field in model.model_fields.items()]


def _inner(model: type[Part], loc: "tuple[int | str, ...]") -> type[Part]:
    """The part within a part that has the key at the end of a path."""
    for name in loc[:-1]:
        field = model.model_fields.get(str(name))
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Part)), model)
    return model


def _keys_of(data: dict[str, Any], known: list[str]) -> set[str]:
    """The names that may stand in a path: keys of the part and of the mappings within; types of unions may not."""
    inner = {key for value in data.values() if isinstance(value, dict) for key in value}
    return {*data, *known, *inner}
