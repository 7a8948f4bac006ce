"""Explanations of a fitted tree: rules, single predictions, SHAP values, pictures, the interactive page."""
