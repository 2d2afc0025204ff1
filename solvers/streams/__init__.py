"""Methods of streams: sizing, and the least wall time of a bag on hosts that are paid by started units."""
