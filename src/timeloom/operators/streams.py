"""How verbs of streams run: on Structured Streaming, or on local tables as streams that are over."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timeloom.streaming.final.stream import FinalStream


def run_streams(frames: dict[str, Any], make: "Callable[[], FinalStream]", watermark: str | None) -> Any:
    """The results of streams, with the refused events."""
    from timeloom.engines.tables.frames import family_of, to_arrow

    if family_of(frames) == "spark":
        from timeloom.engines.spark.cluster.interpreter import use_own_python
        from timeloom.streaming.final.structured import run

        use_own_python(next(iter(frames.values())).sparkSession)
        return run(list(frames.values()), make, watermark)
    import pyarrow as pa

    stream = make()
    tables = {side: to_arrow(frame, side) for side, frame in frames.items()}
    found = [stream.push_all([table for table, _ in tables.values()]), stream.close()]
    _, restore = next(iter(tables.values()))
    return restore(stream.with_refused(pa.concat_tables(found)))
