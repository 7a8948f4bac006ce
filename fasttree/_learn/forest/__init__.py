"""Growth of forests: bags, trees side by side, and what the samples out of the bags say."""
