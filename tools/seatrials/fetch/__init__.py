"""What comes from the Hub: a data set's list of files, the collections in it, and the download of one."""
