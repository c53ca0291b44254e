"""Recipes for maintainers: cut a version, make its assets, sum, sign and verify them, and rehearse all of it.

What a person's machine does with a release is `agent_ways.ways.update`'s; these recipes go by its names and checks.
"""
