"""The other systems that the papers compare with, with the same interface as our models."""
