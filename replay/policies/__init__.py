"""The policies: published dynamic schedulers and baselines, one module each."""
