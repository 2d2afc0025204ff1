"""The plan: schedules, their timing, cost, checker, files and charts."""
