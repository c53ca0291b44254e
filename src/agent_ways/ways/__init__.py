"""The operator's command: targets, reconcile, registration, status, doctor, update."""
