"""What everything else stands on: errors, settings, checked plain data, random streams, the registry of parts."""
