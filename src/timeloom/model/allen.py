"""Allen's thirteen relations. Exactly one of them holds between any two non-empty periods."""

from timeloom.model.box import Box
from timeloom.model.relation import Relation

before = Relation.of([Box(start_end=(1, None))], "before")
meets = Relation.of([Box(start_end=(0, 0))], "meets")
overlaps = Relation.of([Box(start_start=(1, None), start_end=(None, -1), end_end=(1, None))], "overlaps")
starts = Relation.of([Box(start_start=(0, 0), end_end=(1, None))], "starts")
during = Relation.of([Box(start_start=(None, -1), end_end=(1, None))], "during")
finishes = Relation.of([Box(start_start=(None, -1), end_end=(0, 0))], "finishes")
equals = Relation.of([Box(start_start=(0, 0), end_end=(0, 0))], "equals")
after = Relation.of((~before).terms, "after")
met_by = Relation.of((~meets).terms, "met_by")
overlapped_by = Relation.of((~overlaps).terms, "overlapped_by")
started_by = Relation.of((~starts).terms, "started_by")
contains = Relation.of((~during).terms, "contains")
finished_by = Relation.of((~finishes).terms, "finished_by")

intersects = Relation.of([Box(start_end=(None, -1), end_start=(1, None))], "intersects")
"""Not one of the thirteen: the periods share at least one instant."""

NAMES = (
    *("before", "meets", "overlaps", "starts", "during", "finishes", "equals"),
    *("after", "met_by", "overlapped_by", "started_by", "contains", "finished_by"),
    "intersects",
)
