"""A network company's contracts: who signed, what became active, and what the books said when.

Run it with ``python examples/contracts/contracts.py``. Contracts are generated with a seed; each is signed on a day
(system time), is active over a period (application time), and may be changed or cancelled later.
"""

from datetime import date, timedelta

import numpy as np

import timeloom as tl

FIRST = date(2014, 1, 1)
DAYS = 240


def company(seed: int = 1, per_day: int = 4) -> tl.BitemporalTable:
    """Let customers sign, upgrade and cancel, day by day; each day is one batch."""
    random = np.random.default_rng(seed)
    contracts = tl.BitemporalTable(key="contract")
    running: list[int] = []
    number = 0
    for day in range(DAYS):
        today = FIRST + timedelta(days=day)
        with contracts.batch() as batch:
            for _ in range(random.poisson(per_day)):
                active = today + timedelta(days=int(random.integers(0, 45)))
                plan = {
                    "contract": number,
                    "plan": str(random.choice(["basic", "plus", "max"])),
                    "fee": int(random.integers(10, 60)),
                    "app_start": active,
                    "app_end": active + timedelta(days=365),
                }
                batch.insert(plan, sys=today)
                running.append(number)
                number += 1
            if running and random.random() < 0.6:
                batch.delete(running.pop(int(random.integers(len(running)))), sys=today)
            if running and random.random() < 0.4:
                raised = running[int(random.integers(len(running)))]
                later = today + timedelta(days=60)
                batch.update(raised, {"fee": int(random.integers(60, 90))}, sys=today, portion=(later, None))
    return contracts


def main() -> None:
    """Ask the three questions of the thesis, and one about corrections."""
    contracts = company()
    history = contracts.history()
    print(f"{len(contracts):,} versions of contracts, {contracts.as_of().num_rows:,} of them believed now\n")

    print("Signed in the past 60 days, as of each month:")
    print(
        tl.sql(
            """select sys_last as as_of, count(*) as signed from contracts
               [SYS, START DATE '2014-01-01', RANGE INTERVAL 60 DAYS, SLIDE INTERVAL 30 DAYS]
               [APP, START DATE '2013-01-01', RANGE INTERVAL 2000 DAYS, SLIDE 0]
               [RATIO 1:0] STEPS 5 MEANING began""",
            contracts=history,
        ).to_pandas()
    )

    print("\nSigned in the past 60 days and active since the past 30, day by day for a week:")
    both = {
        "sys": tl.Slide("2014-05-01", "60 days", "1 day"),
        "app": tl.Slide("2014-06-01", "30 days", "1 day"),
        "steps": 14,
    }
    counts = tl.sliding_windows(history, **both, meaning="began", bounds=True)
    print(counts.to_pandas().iloc[::2][["step", "sys_last", "app_last", "n"]])

    print("\nRevenue of a day, as the books had it on three later days:")
    day = date(2014, 7, 1)
    index = contracts.index()
    query = index.windows(
        sys=tl.Slide(date(2014, 6, 1), "30 days", "30 days"),
        app=tl.Slide(day - timedelta(days=1), "1 day", 0),
        ratio=(1, 0),
        steps=2,
        select={"contracts": "count", "fees": ("fee", "sum"), "highest": ("fee", "top", 3)},
    )
    for step in query:
        print(f"  known on {step.sys[1]}: {step.values}; {step.entered.size} entered, {step.left.size} left")


if __name__ == "__main__":
    main()
