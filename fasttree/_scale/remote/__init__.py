"""Task of trees from tables whose rows are in the memory of other processes."""
