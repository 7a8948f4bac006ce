"""Growth: from a table and a recipe to a tree."""
