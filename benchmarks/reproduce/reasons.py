"""Why a figure is confirmed in part only: whose doing it is, ours, our data's, the paper's or the machine's."""

WHY = {
    "counting-2": "Data: the paper does not tell the order of equal endpoints, on which Simple depends most.",
    "counting-3": "Data, not proved: GREEND was drawn nearly in order of time, which makes sorting cheap; it comes in "
    "no order since.",
    "stab-forest-5-left": "Machine: a scan passes an event in a nanosecond, so less is left to gain.",
    "stab-forest-6": "Machine: a scan passes tens of events while the index looks one place up, so that a larger c "
    "than the paper's is nearer to the best.",
    "stab-forest-7-left": "Rival and machine: events come in the order of their starts, so a search tree finds its way "
    "in the cache, and ours asks no allocator for a node.",
    "stab-forest-7-right": "Ours: times have eight bytes, four in the paper, and the end of an event stands in the "
    "list of its node, too.",
    "sweeping-13": "Machine: a scan of a set without gaps runs at the speed of the cache, and every pair is written in "
    "any case; the calls of getnext are divided as stated (9.2.2).",
    "sweeping-14": "Machine: a filter over neighbours in memory costs less than following links, even if it drops half "
    "of what it reads, so a tree never pays.",
    "sweeping-15": "Rival: the paper's own IEJoin is not to be had; this is DuckDB's, which works on blocks of rows.",
    "sweeping-16": "Rival: Leung-Muntz is compiled and its lists have no gaps, as ours; comparing whole tuples then "
    "costs several times as much, not a hundred times.",
    "dip-6a": "Data: it takes a longer history than this scale has.",
    "dip-6b": "Data: it takes a longer history than this scale has.",
    "dip-21": "Data: the paper's number is of 8 million tuples, and OIP's comparisons grow faster than DIP's (figure "
    "22b): a twentieth of the tuples has a smaller ratio.",
    "dip-22d": "Paper: with the lengths that it states a tuple has 150 partners, and nothing that finds them comes "
    "near a scan.",
    "dip-25": "Ours: about 120 partitions are joined one after the other, while the tree and the timeline read each "
    "value once.",
    "dip-26": "Machine and data: all active rows of 22,000 tuples lie in the nearest cache, and sorting, which all "
    "need, is half of what the sweepline takes.",
    "dip-27": "Machine: the eight long tuples stay in the nearest cache, however often they are looked up.",
    "dip-28": "Ours: current rows of all partitions are compared several at a time, so rivals have less of a lead.",
    "dip-29": "Ours: current rows of all partitions are compared several at a time, so rivals have less of a lead.",
    "dip-31": "Ours: with few partitions at once each row is compared with few others at a time.",
    "thesis-5.1": "Machine: a scan of four columns in order runs at the speed of memory, and half of the rows are in "
    "the answer.",
    "thesis-5.3": "Machine: the scan looks up what begins and reads one column for what ends, which is short at this "
    "scale.",
    "thesis-5.4": "Ours: deltas are computed for many slides at once, which spreads what a longer history costs.",
    "thesis-5.6": "Ours: deltas are computed for many slides at once, which leaves BiTL no lead.",
    "thesis-5.7": "Ours: the structure alone is near BiTL's, but a batch passes Python, about a tenth of a millisecond "
    "for a thousand transactions: it is checked whole, its table is kept, and readers see the state at once.",
    "thesis-5.8": "Ours and data: the index alone is less than half of BiTL; the rows' own times, 32 bytes that both "
    "need, hide it.",
}
"""By the name of the figure; told where the verdict is no better."""


def why(name: str, verdict: str) -> str:
    """The reason in words, if the verdict asks for one."""
    return WHY.get(name, "") if verdict in ("confirmed in part", "refuted") else ""
