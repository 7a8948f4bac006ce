"""Places of the boxes of a drawn tree: tidy, without overlap, in linear time.

A parent is centred over its children, subtrees are moved together until they touch, and the subtrees between two that touch are
spread evenly.  Reingold and Tilford (1981), "Tidier drawings of trees"; for any number of branches in linear time: Buchheim,
Juenger and Leipert (2002), "Improving Walker's algorithm to run in linear time"; for boxes of any size: van der Ploeg (2014),
"Drawing non-layered tidy trees in linear time".  This file knows only sizes, neither the contents nor whether the tree grows down
or to the right: *breadth* is across the direction of growth, *depth* along it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["spread"]


def spread(
    first_child: Sequence[int],
    n_branches: Sequence[int],
    breadth: Sequence[float],
    start: Sequence[float],
    stop: Sequence[float],
) -> list[float]:
    """Place boxes along the breadth, so that no two overlap.

    Parameters
    ----------
    first_child, n_branches : sequence of int, length n
        Node 0 is the root; the children of node ``i`` are ``first_child[i] + b`` for ``b < n_branches[i]``, all larger than i.
    breadth : sequence of float, length n
        Breadth of each box, including the space to its neighbours.
    start, stop : sequence of float, length n
        Start and end of each box along the depth; a child starts where its parent ends or later.

    Returns
    -------
    list of float, length n
        Start of each box along the breadth; the least is 0.
    """
    places = _Places(first_child, n_branches, breadth, stop)
    # bottom-up: children have larger numbers than their parents
    for node in range(len(first_child) - 1, -1, -1):
        if n_branches[node]:
            places.join(node)
    return places.absolute()


class _Places:
    """Relative places of nodes and subtrees.

    A node is at `own` relative to its parent, and its whole subtree is moved by `move`.  The outline of a subtree leads from
    child to child, and from the end of a shorter child by a thread into a longer one.
    """

    def __init__(
        self, first_child: Sequence[int], n_branches: Sequence[int], breadth: Sequence[float], stop: Sequence[float]
    ) -> None:
        n = len(first_child)
        self.first_child = first_child
        self.n_branches = n_branches
        self.breadth = breadth
        self.stop = stop
        self.own = [0.0] * n
        self.move = [0.0] * n
        # moves to be spread evenly over the children between two siblings
        self.step = [0.0] * n
        self.rest = [0.0] * n
        # deepest node of each subtree on its left and right outline, the sum of moves above it, and the end of its thread
        self.left_end, self.right_end = list(range(n)), list(range(n))
        self.left_moves, self.right_moves = [0.0] * n, [0.0] * n
        self.left_thread, self.right_thread = [-1] * n, [-1] * n

    def join(self, node: int) -> None:
        """Move the subtrees of a node together, from left to right, and centre the node over them."""
        first, last = self.first_child[node], self.first_child[node] + self.n_branches[node] - 1
        # siblings visible from the right: (depth that the sibling reaches, sibling), the shallow and near ones last
        reach = [(self.stop[self.left_end[first]], first)]
        for child in range(first + 1, last + 1):
            depth = self.stop[self.right_end[child]]
            self.push_apart(first, child, reach)
            while reach and depth >= reach[-1][0]:
                reach.pop()
            reach.append((depth, child))
        middle = (self.own[first] + self.move[first] + self.own[last] + self.move[last] + self.breadth[last]) / 2
        self.own[node] = middle - self.breadth[node] / 2
        self.left_end[node], self.left_moves[node] = self.left_end[first], self.left_moves[first]
        self.right_end[node], self.right_moves[node] = self.right_end[last], self.right_moves[last]

    def push_apart(self, first: int, child: int, reach: list[tuple[float, int]]) -> None:
        """Move a child so that its left outline touches the right outline of the siblings before it."""
        own, move, stop = self.own, self.move, self.stop
        right, left = child - 1, child
        right_moves, left_moves = move[right], move[left]
        seen = len(reach) - 1
        while right >= 0 and left >= 0:
            if stop[right] > reach[seen][0]:
                seen -= 1
            overlap = right_moves + own[right] + self.breadth[right] - left_moves - own[left]
            # the two nodes themselves must touch; nodes below them may only push
            if overlap > 0 or (right, left) == (child - 1, child):
                left_moves += overlap
                self.push(reach[seen][1], child, overlap)
            right_stop, left_stop = stop[right], stop[left]
            if right_stop <= left_stop:
                right = self.next_right(right)
                right_moves += move[right] if right >= 0 else 0.0
            if right_stop >= left_stop:
                left = self.next_left(left)
                left_moves += move[left] if left >= 0 else 0.0
        if left >= 0:
            self.thread_left(first, child, left, left_moves)
        elif right >= 0:
            self.thread_right(child, right, right_moves)

    def push(self, sibling: int, child: int, distance: float) -> None:
        """Move a child away from a sibling that it overlaps, and spread the move over those between."""
        self.move[child] += distance
        self.left_moves[child] += distance
        self.right_moves[child] += distance
        between = child - sibling
        if between > 1:
            self.step[sibling + 1] += distance / between
            self.step[child] -= distance / between
            self.rest[child] -= distance - distance / between

    def next_left(self, node: int) -> int:
        return self.first_child[node] if self.n_branches[node] else self.left_thread[node]

    def next_right(self, node: int) -> int:
        branches = self.n_branches[node]
        return self.first_child[node] + branches - 1 if branches else self.right_thread[node]

    def thread_left(self, first: int, child: int, to: int, moves: float) -> None:
        """Continue the left outline from the end of the siblings, which are shorter, into the child."""
        end = self.left_end[first]
        self.left_thread[end] = to
        # the difference of moves is stored at the end node, where only the thread uses it
        lacking = moves - self.move[to] - self.left_moves[first]
        self.move[end] += lacking
        self.own[end] -= lacking
        self.left_end[first], self.left_moves[first] = self.left_end[child], self.left_moves[child]

    def thread_right(self, child: int, to: int, moves: float) -> None:
        """Continue the right outline from the end of the child, which is shorter, into the siblings before it."""
        end = self.right_end[child]
        self.right_thread[end] = to
        lacking = moves - self.move[to] - self.right_moves[child]
        self.move[end] += lacking
        self.own[end] -= lacking
        self.right_end[child], self.right_moves[child] = self.right_end[child - 1], self.right_moves[child - 1]

    def absolute(self) -> list[float]:
        moves = list(self.move)
        for node, branches in enumerate(self.n_branches):
            step = owed = 0.0
            for child in range(self.first_child[node], self.first_child[node] + branches):
                step += self.step[child]
                owed += step + self.rest[child]
                moves[child] += owed + moves[node]
        places = [own + move for own, move in zip(self.own, moves, strict=True)]
        least = min(places)
        return [place - least for place in places]
