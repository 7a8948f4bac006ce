"""Trees that vote as C source: each gives its class the share of this class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fasttree._export.c import CSource
from fasttree._export.c_pieces import over_trees
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
        comment = "The votes for each class, added in the order of the trees: each votes with the share of its class."
        votes = over_trees(self.divides, comment, "tree_votes", ADD_VOTE)
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


ADD_VOTE = """\
        k = tree_best(@row, @width);
        out[k] += @row[k];
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
