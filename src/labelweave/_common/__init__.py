"""Private modules below all other packages, which know nothing of models and data sets."""
