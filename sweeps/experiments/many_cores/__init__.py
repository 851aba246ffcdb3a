"""The study of many cores: locks by the number of cores and by the way between them."""
