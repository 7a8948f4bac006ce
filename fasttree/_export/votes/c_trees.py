"""Trees that vote as C source: each gives its class the share of this class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fasttree._export.c import CSource
from fasttree._export.layout import description
from fasttree._export.subject import Subject
from fasttree._export.votes.joined import default_of, joined_voting

__all__ = ["export_voting_c"]


def export_voting_c(subjects: Iterable[Subject], name: str = "tree") -> str:
    """Write boosted trees as C source; parameters and errors are those of `export_c`."""
    return _VotingSource(joined_voting(subjects), name).source()


class _VotingSource(CSource):
    def description(self) -> list[str]:
        return description(self.subject, self.roots, by_vote=True)

    def sum_source(self) -> str:
        votes = VOTES_OF_TREES_DIVIDED if self.divides else VOTES_OF_TREES
        return votes.replace("@whole", self.whole).replace("@width", self.width)

    def walk_functions(self) -> Iterator[str]:
        """Yield the functions of a forest, those that the votes need before them."""
        *functions, of_votes, best = super().walk_functions()
        yield from (*functions, best, of_votes)

    def answers(self) -> Iterator[str]:
        refusal = "    if (tree_refuses(x))\n        return -1;\n" if self.refuses else ""
        for source in (CLASS_OF_VOTES, GIVE_VOTES):
            yield (
                source.replace("@refusal", refusal).replace("@default", str(default_of(self.tree))).replace("@width", self.width)
            )


VOTES_OF_TREES = """
/* The votes for each class, added in the order of the trees: each votes with the share of its class. */
static void tree_votes(const TREE_INPUT *x, double *out)
{
    int i, k;
    for (k = 0; k < @width; k++)
        out[k] = 0.0;
    for (i = 0; i < TREE_N_TREES; i++) {
        const double *const row = tree_values[tree_row(x, tree_roots[i])];
        k = tree_best(row, @width);
        out[k] += row[k];
    }
}
"""

VOTES_OF_TREES_DIVIDED = """
/* The votes for each class, added in the order of the trees: each votes with the share of its class. */
static void tree_votes(const TREE_INPUT *x, double *out)
{
    int i, k;
    for (k = 0; k < @width; k++)
        out[k] = 0.0;
    for (i = 0; i < TREE_N_TREES; i++) {
        const int32_t end = tree_follow(x, tree_roots[i]);
        double of_tree[@width];
        if (end >= 0)
            tree_divide(x, end, of_tree);
        else
            for (k = 0; k < @width; k++)
                of_tree[k] = tree_values[~end][k]@whole;
        k = tree_best(of_tree, @width);
        out[k] += of_tree[k];
    }
}
"""

CLASS_OF_VOTES = """
int tree_predict(const TREE_INPUT *x)
{
    double votes[TREE_N_CLASSES];
    int best;
@refusal    tree_votes(x, votes);
    best = tree_best(votes, TREE_N_CLASSES);
    return votes[@default] >= votes[best] ? @default : best;
}
"""

GIVE_VOTES = """
int tree_predict_proba(const TREE_INPUT *x, double *out)
{
    double total = 0.0;
    int k;
@refusal    tree_votes(x, out);
    for (k = 0; k < @width; k++)
        total += out[k];
    for (k = 0; k < @width; k++)
        out[k] /= total;
    return 0;
}
"""
