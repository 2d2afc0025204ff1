"""What the paper on Caron and de Assuncao (2016) prints, and what is measured here."""
