"""What the engines that speak SQL share: which columns keep a record."""
