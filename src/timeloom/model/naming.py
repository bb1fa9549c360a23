"""Which columns the result of a two-table verb has, and where each comes from. The same for every engine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from timeloom.errors import UsageError, did_you_mean, shown

Origin = Literal["left", "right", "key", "overlap_start", "overlap_end", "overlap_length", "distance"]


@dataclass(frozen=True)
class OutputColumn:
    """One column of the result. A key comes from the left row, or from the right row where there is no left one."""

    name: str
    origin: Origin
    left: str = ""
    right: str = ""


@dataclass(frozen=True)
class Keys:
    """The equality keys of two tables, pairwise."""

    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        on: "str | Sequence[str] | None" = None,
        left_on: "str | Sequence[str] | None" = None,
        right_on: "str | Sequence[str] | None" = None,
    ) -> "Keys":
        """Read the options ``on``, ``left_on`` and ``right_on``."""
        if on is not None and (left_on is not None or right_on is not None):
            raise UsageError("give either on=, or left_on= and right_on=, not both")
        left, right = (column_names(name, given) for name, given in (("left_on", left_on), ("right_on", right_on)))
        if on is not None:
            left = right = column_names("on", on)
        if len(left) != len(right):
            raise UsageError(f"left_on names {len(left)} columns and right_on {len(right)}; give pairs")
        return cls(left, right)

    def __bool__(self) -> bool:
        return bool(self.left)


def column_names(option: str, given: "str | Sequence[str] | None") -> tuple[str, ...]:
    """Read an option that takes one column name or several, each of them once."""
    if given is None:
        return ()
    series = isinstance(given, Iterable) and not isinstance(given, bytes | Mapping)
    names: tuple[Any, ...] = tuple(given) if series and not isinstance(given, str) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{option} takes column names, not {shown(name)}")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{option}= names {name!r} twice; name each column once")
    return names


def joined_columns(
    left: Sequence[str],
    right: Sequence[str],
    keys: Keys,
    *,
    suffixes: tuple[str, str] = ("", "_right"),
    without_right: Sequence[str] = (),
    overlap: "bool | str" = False,
    distance: str | None = None,
    columns: Sequence[str] | None = None,
) -> list[OutputColumn]:
    """Lay out the result: left columns, then right ones without the keys; equal names get the suffixes.

    ``without_right`` are right columns that the verb does not carry over, ``distance`` names the column for distances.
    ``columns`` picks and orders the output.
    """
    carried = [name for name in right if name not in keys.right and name not in without_right]
    partner = dict(zip(keys.left, keys.right, strict=True))
    shared = {name for name in carried if name in left}
    result = []
    for name in left:
        if name in partner:
            result.append(OutputColumn(name, "key", name, partner[name]))
        else:
            result.append(OutputColumn(name + suffixes[0] if name in shared else name, "left", left=name))
    result += [OutputColumn(name + suffixes[1] if name in shared else name, "right", right=name) for name in carried]
    if distance is not None:
        result.append(OutputColumn(distance, "distance"))
    if overlap == "length":
        result.append(OutputColumn("overlap_length", "overlap_length"))
    elif overlap:
        result += [OutputColumn("overlap_start", "overlap_start"), OutputColumn("overlap_end", "overlap_end")]
    names = [column.name for column in result]
    clashes = sorted({name for name in names if names.count(name) > 1})
    if clashes:
        raise UsageError(
            f"the result would have more than one column named {', '.join(map(repr, clashes))}; "
            f"choose other suffixes= (now {suffixes!r}) or rename a column"
        )
    if columns is None:
        return result
    by_name = {column.name: column for column in result}
    for name in columns:
        if name not in by_name:
            raise UsageError(f"columns= asks for {name!r}, which the result does not have. {did_you_mean(name, names)}")
    return [by_name[name] for name in columns]
