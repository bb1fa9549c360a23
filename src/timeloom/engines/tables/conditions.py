"""Conditions of SQL, evaluated on the columns of candidate pairs: three-valued, so that null is not true.

Their parser takes longer to load than most of what joins need, so it is loaded where there is a condition.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError, TimeloomError
from timeloom.model.conditions import Condition

_FAILURES = (pa.ArrowException, OverflowError, ValueError, TypeError, AttributeError, KeyError)


def held(condition: Condition, columns: Mapping[str, pa.ChunkedArray], rows: int) -> "NDArray[np.bool_]":
    """Which rows satisfy a condition; where it is null, they do not."""
    from timeloom.engines.tables.condition_values import evaluate

    try:
        value = evaluate(condition.tree, columns)
        if pa.types.is_null(value.type):
            return np.zeros(rows, np.bool_)
        if not pa.types.is_boolean(value.type):
            raise InvalidInputError(f"where={condition.text!r} is {value.type}; expected a condition, true or false")
        if isinstance(value, pa.Scalar):
            return np.full(rows, value.as_py() is True, np.bool_)
        return np.asarray(pc.fill_null(value, False))
    except TimeloomError:
        raise
    except _FAILURES as error:
        raise InvalidInputError(f"where={condition.text!r} cannot be computed: {error}") from error
