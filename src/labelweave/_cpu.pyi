def levels() -> tuple[str, ...]:
    """Return the levels that this CPU has, the best one last."""
