"""Plan the bag of the tutorial by each goal, with and without survival, and print a table.

The guarantee is nearly free for some goals and dear for others; this shows both prices of each plan.
"""

