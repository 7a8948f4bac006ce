"""CHAID: merging of categories by significance tests, and growth of a tree from the merged groups."""
