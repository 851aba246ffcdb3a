"""What `lockcross prove` does beside proving locks."""
