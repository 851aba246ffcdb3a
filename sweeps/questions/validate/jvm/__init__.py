"""`advise` held to a JVM: Java programs run under both of its locking modes, recorded, and beside
the difference what the whole tool says of it, from the log to the answer."""
