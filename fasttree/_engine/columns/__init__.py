"""Columns of a table in the forms that growth reads: keys, bins, codes and sorted lists."""
