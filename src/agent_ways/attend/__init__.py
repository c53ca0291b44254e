"""The signal bus: signals, rooms, instances, delivery, verbs, drain, sensor loop."""
