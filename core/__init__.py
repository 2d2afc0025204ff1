"""What knows no system: errors, documents, quantities, tables, wording, processes, statistics."""
