"""Rules that vote: tables, SQL, and explanations of single predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._explain.ordered_rules import OrderedRules
from fasttree._export.branches import apart
from fasttree._export.sql import case, check_names
from fasttree._export.sql_dialect import Dialect, DialectName
from fasttree._export.sql_text import ColumnTexts, columns_of
from fasttree._export.subject import check_class
from fasttree._model.ruleset import figures_of, ranks_of, vote_shares, voted_classes, votes_of
from fasttree._model.words import counted, percent

__all__ = ["VotingRules"]

MOST_TERMS = 400  # SQLite reads expressions of at most 1000 levels, and a sum has a level for each term


class VotingRules(OrderedRules):
    """Rules of a `C50Classifier`, all of which vote: an immutable sequence that can be explained and exported.

    Each rule whose conditions all hold votes for its class with its confidence, 1 - `estimate`, in thousandths.  The class with
    the most votes is predicted, on ties the default class.

    Attributes
    ----------
    default : object
        The default class.

    Examples
    --------
    >>> from fasttree import C50Classifier
    >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
    >>> C50Classifier(rules=True).fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).to_rules()
    <VotingRules: 2 rules>
    if x1 > 2 then ripe  (cover 5, errors 0, estimate 14.3 %)
    if x1 <= 2 then unripe  (cover 15, errors 0, estimate 5.9 %)
    else unripe
    """

    _how = "Every rule whose conditions all hold votes with its confidence, 1 - estimate."

    def _votes(self) -> NDArray[np.int32]:
        return votes_of(*figures_of(self._rules))

    def _decide(self, found: list[int]) -> tuple[int | None, int, NDArray[np.float64]]:
        model = self._model
        labels = [model.labels.index(rule.label) for rule in self._rules]
        votes = np.zeros((1, len(model.labels)), dtype=np.int32)
        given = self._votes()
        for i in found:
            votes[0, labels[i]] += given[i]
        chosen = int(voted_classes(votes, model.default)[0])
        ranks = ranks_of(self._rules)
        deciding = min((i for i in found if labels[i] == chosen), key=lambda i: int(ranks[i]), default=None)
        return deciding, chosen, vote_shares(votes, model.default, model.class_count)[0]

    def _reasons(self, deciding: int | None, found: list[int], values: list[Any]) -> Iterator[str]:
        if deciding is None:
            yield "no rule fires, so that the class is the default"
            return
        confidence = percent(self._rules[deciding].confidence)
        yield f"{counted(len(found), 'rule')} of {len(self)} {'votes' if len(found) == 1 else 'vote'}; confidence {confidence}"
        for i in [deciding, *(i for i in found if i != deciding)]:
            yield f"rule {i}: {self._in_words[i]._write(self._thresholds)}"
            yield from self._condition_notes(i, values)

    def to_sql(
        self,
        *,
        table: str | Sequence[str] | None = None,
        name: str | None = None,
        probability_of: Any = None,
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the rules as an SQL expression or query that predicts as the model does, bit for bit.

        The expression adds the votes for each class and compares them.  Each feature is a column with its name, in which missing
        values are NULL.  With ``unseen="error"``, the result is NULL if a feature of a rule has an unseen category.

        Parameters
        ----------
        table : str or sequence of str, optional
            Name of a table, or the names of its schema and the table.  The result is then a query of all its columns and, for
            each row, ``votes_<class>``, ``prediction`` and ``probability_<class>``.
        name : str, optional
            Name of the result.
        probability_of : object, optional
            Class whose probability the expression returns; by default it returns the predicted class.
        dialect, cast, nan_as_missing
            See `CARTClassifier.export_sql`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a name or category cannot be written, or a parameter is invalid.

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
        >>> rules = C50Classifier(rules=True).fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).to_rules()
        >>> print(rules.to_sql(name="state"))
        (WITH "votes" ("votes_ripe", "votes_unripe") AS MATERIALIZED (
        SELECT (CASE WHEN "x1" > 2.0 THEN 857 ELSE 0 END), (CASE WHEN "x1" <= 2.0 THEN 941 ELSE 0 END)
        )
        SELECT CASE
          WHEN "votes_unripe" >= "votes_ripe" THEN 'unripe'
          ELSE 'ripe'
        END
        FROM "votes") AS "state"
        """
        parts = check_names(name, table, probability_of)
        model = self._model
        columns = columns_of(model.schema, dialect, cast, nan_as_missing)
        if probability_of is not None:
            check_class(probability_of, model.labels)
        names = [feature.name for feature in model.schema.features]
        sums = self._sums(columns)
        if table is not None:
            return self._query(columns, parts, name or "prediction", names, sums)
        taken = list(names)
        for label in model.labels:
            taken.append(apart(f"votes_{label}", taken))
        given = list(map(columns.dialect.identifier, taken[len(names) :])) if columns.dialect.has_steps else sums
        place = None if probability_of is None else model.labels.index(probability_of)
        chosen = self._chosen(columns, given, columns.dialect.literal, self._refused(columns))
        text = "\n".join(chosen if place is None else self._share(columns, given, place))
        if columns.dialect.has_steps:
            votes = columns.dialect.identifier("votes")
            text = (
                f"(WITH {votes} ({', '.join(given)}) AS MATERIALIZED (\nSELECT {', '.join(sums)}\n)\nSELECT {text}\nFROM {votes})"
            )
        return text if name is None else f"{text} AS {columns.dialect.identifier(name)}"

    def _sums(self, columns: ColumnTexts) -> list[str]:
        """Return an expression for the votes of each class."""
        terms: dict[Any, list[str]] = {label: [] for label in self._model.labels}
        for rule, vote in zip(self._rules, self._votes().tolist(), strict=True):
            test = " AND ".join(map(columns.predicate, rule.conditions))
            terms[rule.label].append(f"CASE WHEN {test} THEN {vote} ELSE 0 END")
        return [added(of_class) for of_class in terms.values()]

    def _refused(self, columns: ColumnTexts) -> list[tuple[str, list[str]]]:
        """Return the cases of unseen categories, if the model rejects them."""
        model = self._model
        used = sorted({condition.index for rule in self._rules for condition in rule.conditions})
        features = [model.schema.features[i] for i in used if model.unseen == "error"]
        return [(columns.is_other(feature, feature.categories), ["NULL"]) for feature in features if feature.categories]

    def _chosen(
        self,
        columns: ColumnTexts,
        votes: Sequence[str],
        write: Callable[[Any], str],
        refused: Sequence[tuple[str, list[str]]] = (),
    ) -> list[str]:
        """Return the lines of a `CASE` for the class with the most votes; `votes` has an expression for each class."""
        model = self._model
        waiting = [model.default, *(k for k in range(len(votes)) if k != model.default)]
        cases = list(refused)
        while len(waiting) > 1:
            k = waiting.pop(0)
            cases.append((" AND ".join(f"{votes[k]} >= {votes[j]}" for j in waiting), [write(model.labels[k])]))
        return case("CASE", cases, [write(model.labels[waiting[0]])])

    def _share(self, columns: ColumnTexts, votes: Sequence[str], k: int) -> list[str]:
        """Return the lines of a `CASE` for the probability of a class."""
        model, dialect = self._model, columns.dialect
        total = f"({' + '.join(votes)})"
        none = vote_shares(np.zeros((1, len(votes)), dtype=np.int32), model.default, model.class_count)[0, k]
        of_none = [cast_to_double(dialect.literal(float(none)), dialect)]
        share = [f"{cast_to_double(votes[k], dialect)} / {total}"]
        return case("CASE", [*self._refused(columns), (f"{total} = 0", of_none)], share)

    def _query(self, columns: ColumnTexts, table: Sequence[str], name: str, names: list[str], sums: Sequence[str]) -> str:
        """Return a query of all columns of the table, the votes, the prediction, and the probabilities."""
        dialect = columns.dialect
        own = self._own_columns(names, name)
        votes = list(map(dialect.identifier, own[: len(sums)]))
        rows = dialect.identifier(apart("voted", table))
        each = ",\n".join(f"{text} AS {column}" for text, column in zip(sums, votes, strict=True))
        source = ".".join(map(dialect.identifier, table))
        return f"WITH {rows} AS (\nSELECT *, {each}\nFROM {source}\n)\n{self._results(columns, rows, votes, own[len(sums) :])}"

    def _own_columns(self, names: list[str], name: str) -> list[str]:
        """Return names of the columns of a query: the votes for each class, the prediction, and the probabilities."""
        taken, labels = list(names), self._model.labels
        for wanted in [*(f"votes_{label}" for label in labels), name, *(f"probability_{label}" for label in labels)]:
            taken.append(apart(wanted, taken))
        return taken[len(names) :]

    def _results(self, columns: ColumnTexts, rows: str, votes: Sequence[str], own: Sequence[str]) -> str:
        """Return the part of a query that reads the votes: the prediction, and the probabilities."""
        dialect = columns.dialect
        prediction, *shares = map(dialect.identifier, own)
        results = ["\n".join(self._chosen(columns, votes, dialect.literal, self._refused(columns))) + f" AS {prediction}"]
        for k, column in enumerate(shares):
            results.append("\n".join(self._share(columns, votes, k)) + f" AS {column}")
        chosen = ",\n".join(results)
        return f"SELECT {rows}.*, {chosen}\nFROM {rows}"


def added(terms: Sequence[str]) -> str:
    """Return the sum of expressions, in parentheses; a long sum is one of shorter sums."""
    if not terms:
        return "0"
    parts = [f"({' + '.join(terms[i : i + MOST_TERMS])})" for i in range(0, len(terms), MOST_TERMS)]
    return parts[0] if len(parts) == 1 else added(parts)


def cast_to_double(text: str, dialect: Dialect) -> str:
    return f"CAST({text} AS {dialect.double})"
