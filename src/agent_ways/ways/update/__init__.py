"""Released versions: which one, from where, proven how, put in force in one step and taken back.

Owns everything between a release on a server and a version in the layout. Needs the standard library alone, because
`make ways-mcp` runs it before anything is installed; the verifier of signatures is a program of its own. The judging
modules (`names`, `platforms`, `sums`, `bundles`, `releases`, `managed`) are functions over values; `web`, `payload`,
`verifiers` and `versions` are the edges; `update` puts them together for `ways update`.
"""
