"""Rules that are induced from trees."""
