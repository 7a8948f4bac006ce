"""Learning: recipes, growth, pruning and rule induction."""
