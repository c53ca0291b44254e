"""`make bench`: this server measured beside others, as ratios in one interleaved run.

See docs/reference/performance.md for how each figure is measured. A bench never fails a build: what does not hold
stands in the table.
"""
