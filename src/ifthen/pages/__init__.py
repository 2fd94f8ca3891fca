"""HTML pages, each one file that needs nothing else: the explain page of a policy, the report of a run."""
