"""Task of trees from tables that are larger than memory."""
