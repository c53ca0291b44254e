"""Our entries in a config dir's settings.json (LIFE-4): text edited in place, a merge over it, the file's edge."""
