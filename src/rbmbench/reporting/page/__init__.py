"""The pages: executed notebooks and the report."""
