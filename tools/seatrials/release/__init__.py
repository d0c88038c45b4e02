"""The send room: the collection as a data set."""
