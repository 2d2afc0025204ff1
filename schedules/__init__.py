"""The plan: schedules, their timing, cost, documents and files."""
