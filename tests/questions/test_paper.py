"""The published numbers: every cell as its index promises, and the sums that the tables hold."""

import csv
from decimal import Decimal

import pytest

from results.paths import PAPER
from sweeps.accuracy import published
from sweeps.accuracy.published import Cell, Entry, Published, index, stated, table

UNITS = "count bytes percent mean ratio ns ms s per_minute per_second".split()
PER_OBJECT = "operations_per_object"


def number(name: str, key: str, column: str) -> float:
    return float(table(name).number(key, column))


def keys(name: str) -> list[str]:
    first = next(iter(table(name).entry.columns))
    return [str(row[first]) for row in table(name).rows]


def fits(cell: Cell, unit: str) -> bool:
    """Whether a cell is as the unit of its column says."""
    kind = unit.rstrip("?")
    if cell is None:
        return kind != unit
    if kind in published.TEXTS:
        return isinstance(cell, str) and cell in {"unit": UNITS, "yes_no": ("yes", "no")}.get(
            kind, (cell,)
        )
    assert kind in (*UNITS, "number") and isinstance(cell, Decimal)
    whole = kind not in ("count", "bytes") or cell == int(cell)
    return whole and (kind == "number" or 0 <= cell <= (100 if kind == "percent" else cell))


def test_every_file_is_in_the_index_and_every_cell_of_its_unit() -> None:
    assert {path.stem for path in PAPER.glob("*.csv")} == set(index().table)
    numbers = 0
    for one in map(table, index().table):
        assert one.entry.document in index().document and one.entry.platform in index().platform
        lines = csv.reader((PAPER / f"{one.name}.csv").read_text("utf-8").splitlines())
        assert {len(line) for line in lines} == {len(one.entry.columns)}, one.name
        for row in one.rows:
            for column, unit in one.entry.columns.items():
                assert fits(row[column], unit), (one.name, column, row)
                numbers += isinstance(row[column], Decimal)
        named = one.entry.key or [next(iter(one.entry.columns))]
        assert len({tuple(row[name] for name in named) for row in one.rows}) == len(one.rows)
        assert set(one.entry.doubtful) <= set(keys(one.name))
    assert numbers > 500


def test_every_document_has_tables_and_every_text_its_words() -> None:
    documents = {entry.document for entry in index().table.values()}
    assert documents == set(index().document) == set("KBOSWLNCF")
    for document in "KBOSW":  # L, N, C and F are others' figures without statements
        for row in table(f"{document}_stated").rows:
            found = stated(document, str(row["id"]))
            assert found.low is not None or found.high is not None
            assert found.low is None or found.high is None or found.low <= found.high
            assert len(str(row["words"])) > 15
            limit, origin = published.bound(document, str(row["id"]))
            assert (limit is None) == (not origin) and (limit is None or -1 <= limit <= 1)


@pytest.mark.parametrize(
    ("name", "part", "whole", "ratio", "digits"),
    [
        ("K_table_2_2", "objects_locked", "objects_created", "ratio", 0.06),
        ("K_table_4_2_synchronized", "objects_synchronized", "objects_created", "ratio", 0.06),
        ("K_table_4_2_heavily", "objects_heavily", "objects_synchronized", "ratio", 0.006),
        ("K_table_4_4", "sections_of_10_ms", "locked_sections", "ratio", 0.006),
        ("K_table_5_3", "by_multiple_threads", "objects_synchronized", "ratio", 0.006),
        ("B_table_1", "synchronizations", "synchronized_objects", "per_object", 0.11),
        ("K_table_4_2_synchronized", "operations", "objects_synchronized", PER_OBJECT, 0.11),
        ("K_table_4_2_heavily", "operations", "objects_heavily", PER_OBJECT, 0.11),
    ],
)
def test_ratios_are_those_of_their_columns(
    name: str, part: str, whole: str, ratio: str, digits: float
) -> None:
    factor = 100 if ratio == "ratio" else 1
    for key in keys(name):
        found = factor * number(name, key, part) / number(name, key, whole)
        assert found == pytest.approx(number(name, key, ratio), abs=digits), key


def test_the_same_counts_stand_in_several_tables() -> None:
    spec = keys("K_table_2_1")
    for key in spec:
        for name, column, other, there in (
            ("K_table_2_1", "acquisitions", "K_table_5_2", "acquisitions"),
            ("K_table_2_2", "objects_created", "K_table_5_3", "objects_created"),
            ("K_table_2_2", "objects_locked", "K_table_5_3", "objects_synchronized"),
            ("K_table_6_2", "cancellations", "K_table_5_3", "by_multiple_threads"),
        ):
            assert number(name, key, column) == number(other, key, there)
        cancelled = number("K_table_6_2", key, "cancellations")
        rate = number("K_table_5_6", key, "cancellations") / 100
        once = rate * number("K_table_5_6", key, "acquisitions")
        assert once == pytest.approx(cancelled, rel=0.15), key  # measured apart
    for key in keys("K_table_4_4"):
        for column, other in (
            ("objects_synchronized", "K_table_4_2_heavily"),
            ("operations", "K_table_4_6_original"),
        ):
            known = number("K_table_4_2_synchronized", key, column)
            assert known == number(other, key, column)
        groups = [row for row in table("K_table_4_3").rows if row["program"] == key]
        for column in ("objects_heavily", "operations"):
            total = sum(float(str(row[column])) for row in groups)
            assert total == number("K_table_4_2_heavily", key, column)


def test_what_the_texts_derive_follows_from_their_numbers() -> None:
    cost = {key: number("K_table_5_4", key, "outermost") for key in keys("K_table_5_4")}
    saved = 100 * (1 - cost["reserved"] / cost["not reserved (flat)"])
    assert stated("K", "reserved_saving").holds(saved)
    times = [number("K_table_5_5", key, "time") for key in keys("K_table_5_5")][1:]
    assert all(stated("K", "cancellation_inflated").holds(t / cost["inflated"]) for t in times)
    for name in ("ibench", "amplace"):
        thin, tasuki = (stated("K", f"{name}_{lock}").value or 0 for lock in ("thin", "tasuki"))
        gain = stated("K", f"{name}_gain").value
        assert 100 * (tasuki / thin - 1) == pytest.approx(gain, abs=0.06)
    for lock in ("reservation", "asymmetric"):
        speedup = stated("K", f"{lock}_p3_209_db").value or 0
        reduction = stated("K", f"reduction_{lock}_209_db").value
        assert 100 * (1 - 1 / (1 + speedup / 100)) == pytest.approx(reduction, abs=0.1)
    objects = number("K_table_6_2", "Barnes", "objects")
    share = 100 * number("K_table_6_2", "Barnes", "cancellations") / objects
    assert stated("K", "cancelled_barnes").holds(share, 0.02)
    for key in keys("O_table_overhead"):
        by_jit, tnp = (number("O_table_overhead", key, c) for c in ("tnp_by_jit", "tnp"))
        overhead = number("O_table_overhead", key, "overhead")
        assert 100 * (tnp - by_jit) / by_jit == pytest.approx(overhead, abs=0.1), key
    for mode, key in (("single", "single_hop"), ("multi", "multi_hop")):
        c, hop = (number("S_table_appendix", mode, f"linux_x86_{name}") for name in ("c", "hop"))
        assert c / hop == pytest.approx(stated("S", key).value, abs=0.01)


def test_a_table_with_other_columns_is_refused() -> None:
    columns = {"program": "text", "count": "count", "share": "percent?"}
    entry = Entry(document="K", place="x", title="y", platform="p3", columns=columns)
    assert published.parse("program,count,share\na,1,\n", entry)[0]["share"] is None
    with pytest.raises(ValueError, match="its columns must be program, count, share"):
        published.parse("program,counts,share\na,1,\n", entry)


def test_ranges() -> None:
    assert Published(1, 1).value == 1 and Published(1, 2).value is None
    ranges = [str(Published(*ends)) for ends in ((1, 1), (None, 2), (3, None), (1, 2))]
    assert ranges == ["1", "at most 2", "at least 3", "1 to 2"]
