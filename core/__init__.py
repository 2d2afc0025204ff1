"""Tools for all systems alike: errors, documents, quantities, tables, wording, processes, statistics."""
