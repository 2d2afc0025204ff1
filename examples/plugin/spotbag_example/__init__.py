"""A method and a policy for spotbag, as an example of a plug-in."""
