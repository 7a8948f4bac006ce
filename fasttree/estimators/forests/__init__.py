"""What the estimators of forests share: parameters, growth, the trees, and what their bags say."""
