"""Exact answers about boxes in bounded spaces, of integer and real features alike, without sampling.

`coverage`: does some rule match everywhere? `first_match`: where does each rule of a decision list decide?
`compare`: do two decision lists do the same everywhere? `overlaps`: which rules contradict each other?
Every answer holds for all points of the space, and comes with a point that shows it where there is one to
show. A search that gives up says so.
"""
