"""The page of rules with models: what it holds, and in a browser, that it shows the rules and predicts as the library does."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fasttree import CubistRegressor


def homes() -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(2)
    X = pd.DataFrame({"size": random.uniform(20, 200, 300).round(1), "town": random.choice(["Bonn", "Köln", "Ulm"], 300)})
    X["rooms"] = random.integers(1, 7, 300).astype(np.float32) / np.float32(3)
    y = 2 * X["size"] + 50 * (X["town"] == "Ulm") + X["size"] * (X["rooms"] > 1) + random.normal(size=300)
    X.loc[::11, "size"] = np.nan
    X.loc[::13, "town"] = None
    return X, y.rename("price")


@functools.cache
def model_of(committees: int, neighbors: int = 0) -> Any:
    return CubistRegressor(committees=committees, neighbors=neighbors, extrapolation=0.0).fit(*homes())


def strange() -> pd.DataFrame:
    """Samples at thresholds and beside them, beyond the bounds, missing and unseen."""
    X, _ = homes()
    limits = [each.threshold for rule in model_of(22).to_rules() for each in rule.conditions if each.feature == "size"][:40]
    sizes = [size for limit in limits for size in (limit, np.nextafter(limit, np.inf))]
    at = pd.DataFrame({"size": sizes, "town": "Ulm", "rooms": 1.5})
    beyond = pd.DataFrame({"size": [-1e9, 1e9, None, 50.0], "town": ["Ulm", None, "Rom", "Bonn"], "rooms": [None, 99, -5, 0.5]})
    return pd.concat([X, at, beyond], ignore_index=True).astype({"rooms": np.float32})


def data_of(document: str) -> Any:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', document, re.DOTALL)[1])


# --- the data


def test_holds_the_rules_with_all_digits():
    model = model_of(22)
    data = data_of(model.export_html())
    assert (data["title"], data["target"], data["default"]) == ("CubistRegressor", "price", model.committee_.default)
    assert [len(member) for member in data["members"]] == [len(member) for member in model.rules_]
    given = [rule for member in data["members"] for rule in member]
    lines = model.export_text().splitlines()
    lines = [line for line in lines if not line.startswith("rule set")]
    for rule, own, line in zip(given, model.to_rules(), lines, strict=True):
        assert [rule[name] for name in ("intercept", "lower", "upper", "cover")] == [
            own.intercept,
            own.lower,
            own.upper,
            own.cover,
        ]
        assert [tuple(term) for term in rule["terms"]] == list(own.terms)
        assert sum(len(condition["tests"]) for condition in rule["conditions"]) == len(own.conditions)
        text = " and ".join(condition["text"] for condition in rule["conditions"])
        assert line.startswith(f"if {text} then {rule['formula']}  (" if text else f"{rule['formula']}  (")


def test_rows_labels_and_titles_are_those_given():
    X, y = homes()
    document = model_of(1).export_html(title="</script>{{script}}", X=X, y=y, max_rows=7, labels={"size": "Area"})
    data = data_of(document)
    assert document.count("</script>") == 2
    assert data["title"] == "</script>{{script}}"
    assert (len(data["rows"]["row"]), data["rows"]["of"]) == (7, 300)
    assert data["rows"]["truth"] == y.iloc[data["rows"]["row"]].tolist()
    assert data["features"][0]["name"] == "Area"
    assert "Area" in json.dumps(data["members"])
    assert data_of(model_of(1).export_html())["rows"] is None


def test_bad_input_is_refused():
    X, y = homes()
    with pytest.raises(ValueError, match="y is given without X"):
        model_of(1).export_html(y=y)
    with pytest.raises(ValueError, match="max_rows=-1"):
        model_of(1).export_html(X=X, max_rows=-1)
    with pytest.raises(ValueError, match="X has 300 samples, but y has 2"):
        model_of(1).export_html(X=X, y=y[:2])


def test_the_page_itself_is_small():
    assert len(CubistRegressor().fit([[0.0], [1.0]] * 20, [1.0, 2.0] * 20).export_html().encode()) < 40_000


# --- in a browser


@pytest.mark.parametrize("committees", [1, 22])
def test_predicts_the_bits_of_the_library(show, committees):
    model, X = model_of(committees), strange()
    page = show(model.export_html(X=X, max_rows=len(X)))
    found = page.evaluate("model.rows.row.map((_, i) => { chooseRow(i); return predictionOf(model, sample); })")
    assert found == model.predict(X).tolist()
    numbers = "chooseRow(i); return entries.filter((entry) => holds(entry.rule, sample)).map((entry) => entry.number)"
    held = page.evaluate(f"model.rows.row.slice(0, 40).map((_, i) => {{ {numbers}; }})")
    assert [tuple(rules) for rules in held] == [model.explain(X.iloc[i]).rules for i in range(40)]


def test_the_reader_chooses_values_and_sees_the_rules_that_hold(show):
    model = model_of(3)
    page = show(model.export_html())
    page.get_by_label("size").fill("120.5")
    page.get_by_label("town").select_option("Ulm")
    page.get_by_label("rooms").fill("0.3")
    page.get_by_label("Only those that hold").check()
    row = {"size": 120.5, "town": "Ulm", "rooms": 0.3}
    explanation = model.explain(row)
    assert float(page.locator("#result strong").text_content()) == pytest.approx(explanation.prediction, rel=1e-5)
    assert page.locator("#rules li").evaluate_all("(all) => all.map((one) => Number(one.id.slice(5)))") == list(explanation.rules)
    assert page.locator("#rules .failed").count() == 0
    assert page.locator("#result tbody tr").count() == 3
    first = page.locator("#rules li").first
    first.locator("summary").click()
    rule = model.to_rules()[explanation.rules[0]]
    told = [float(text.replace(",", "")) for text in first.locator("td.right").all_text_contents()]
    assert told[0] == pytest.approx(rule.intercept, rel=1e-5)
    assert sum(told[: 1 + len(rule.terms)]) == pytest.approx(told[1 + len(rule.terms)], rel=1e-4, abs=1e-4)
    page.get_by_label("Only those that hold").uncheck()
    assert page.locator("#rules .failed").count() > 0


def test_rules_are_filtered_sorted_and_followed_from_their_rule_set(show):
    X, y = homes()
    model = model_of(22)
    rules = model.to_rules()
    page = show(model.export_html(X=X, y=y))
    numbers = "(all) => all.map((one) => Number(one.id.slice(5)))"
    page.get_by_label("Rule set", exact=True).select_option("2")
    start = len(model.rules_[0]) + len(model.rules_[1])
    assert page.locator("#rules li").evaluate_all(numbers) == list(range(start, start + len(model.rules_[2])))
    page.get_by_label("Sort").select_option("most samples first")
    covers = [rules[i].cover for i in page.locator("#rules li").evaluate_all(numbers)]
    assert covers == sorted(covers, reverse=True)
    page.get_by_label("Filter").fill("ULM town")
    shown = page.locator("#rules li").evaluate_all(numbers)
    assert shown == [i for i in shown if "Ulm" in page.locator(f"#rule-{i}").text_content()]
    page.get_by_label("Row of the data").select_option("5")
    link = page.locator("#result .link").last
    name = link.text_content()
    link.click()
    assert page.evaluate("document.activeElement.id") == name.replace(" ", "-")
    chosen = int(page.evaluate("model.rows.row[5]"))
    assert f"off by {abs(model.predict(X.iloc[[chosen]])[0] - y[chosen]):.3}" in page.locator("#result").text_content()


def test_many_rules_are_shown_in_parts(show):
    model = model_of(22)
    page = show(model.export_html())
    page.evaluate("most = 5; showRules()")
    assert page.locator("#rules li").count() == 5
    page.get_by_role("button", name="Show more").click()
    assert page.locator("#rules li").count() == min(105, len(model.to_rules()))


def test_the_page_says_what_neighbours_change(show):
    X, _ = homes()
    model = model_of(2, 3)
    page = show(model.export_html(X=X, max_rows=3))
    assert "corrects what the rules predict by the nearest samples" in page.locator("#sample").text_content()
    found = page.evaluate("model.rows.row.map((_, i) => { chooseRow(i); return predictionOf(model, sample); })")
    rows = page.evaluate("model.rows.row")
    assert found == model.committee_.predict_by_rules(model._encode_table(X.iloc[rows])).tolist()
