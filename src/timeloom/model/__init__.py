"""The model of time: ticks, periods, relations, slides. No engine is imported here."""
