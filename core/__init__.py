"""What knows no system: errors, documents, quantities, wording, processes, statistics."""
