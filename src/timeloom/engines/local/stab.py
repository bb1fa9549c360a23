"""Stabs of local tables."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.instants import instant_ticks, stabbed
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import admit, answer
from timeloom.model.stab import StabRequest


def stab(df: object, request: StabRequest) -> Any:
    """Keep the rows that are active at any of the instants."""
    table, restore = to_arrow(df, "input")
    admitted = admit(table, request.period, "input", request.policy)
    instants = instant_ticks(request.at, admitted.ticks.type)
    pairs = len(admitted.starts) ** 2
    rows = np.flatnonzero(aside(stabbed, admitted.starts, admitted.ends, instants, cores(), pairs=pairs))
    return answer(take_rows(admitted.table, pa.array(rows)), admitted.rejected, request.policy, restore)
