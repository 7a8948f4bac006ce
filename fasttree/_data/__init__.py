"""Conversion of any table to columns of numbers and category codes, independent of trees."""
