"""The frozen form: one folder that carries all three commands and needs no Python on the machine.

PyInstaller's folder form, because its one-file form unpacks at each start, is two processes, and leaves folders behind.
Run as `python -m build.frozen`; `python -m build.frozen.check` holds what was built to what is promised.
"""
