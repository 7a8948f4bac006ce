"""Rules with linear models, and neighbours that correct them."""
