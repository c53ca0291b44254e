"""What every room stands on: paths, locks, records on disk, errors, the user config's reader."""
