"""The published tables, as typed."""

import pytest

from tcgp_experiments.plan import plans
from tcgp_experiments.plan.published import METRICS, TABLE1, TABLE2, TABLE_PROBLEMS, printed_cell


@pytest.mark.parametrize(("table", "plan"), [(TABLE1, "table1"), (TABLE2, "table2")])
def test_every_row_of_a_plan_has_its_published_cells(table, plan):
    rows = plans.get(plan).rows
    assert {(row.level, row.method.label) for row in rows} == set(table)
    for row in table.values():
        assert len(row.split()) == len(METRICS) * len(TABLE_PROBLEMS)


def test_cells_are_where_the_paper_has_them():
    # Corners and centre of the two tables, read off the paper once more.
    assert printed_cell(TABLE1, 0.25, "GP", 0).text == "6.9e2"
    assert printed_cell(TABLE1, 0.05, "tcGP-thres", 14).value == 0.22
    assert printed_cell(TABLE1, 0.1, "tcGP-occ", 8).value == 0.67
    assert printed_cell(TABLE2, 0.0, "GP", 2).value == 0.99
    assert printed_cell(TABLE2, 0.0, "reGP δ=0.25", 14).value == 0.76
    assert printed_cell(TABLE2, 0.0, "tcGP δ=0.1", 7).value == 0.004
    assert printed_cell(TABLE2, 0.0, "nothing", 0) is None


@pytest.mark.parametrize(("place", "half_unit"), [(0, 5.0), (1, 0.005), (9, 0.5), (10, 0.00005)])
def test_rounding_is_half_a_unit_of_the_second_digit(place, half_unit):
    # 5.7e2, 0.2 (that is 0.20), 16 and 0.015 for place 10 of the reGP row below
    row = "GP" if place != 10 else "reGP δ=0.05"
    assert printed_cell(TABLE2, 0.0, row, place).rounding == pytest.approx(half_unit)


def test_a_probability_like_metric_stays_below_one():
    for table in (TABLE1, TABLE2):
        for row in table.values():
            values = [float(text) for text in row.split()]
            assert all(0.0 < value < 1.0 for value in values[2::3])
            assert all(0.0 < value < 0.5 for value in values[1::3])
