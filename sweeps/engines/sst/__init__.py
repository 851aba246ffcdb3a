"""The user's own SST behind the core models of the embedded engine, with sst-configs/."""
