"""The embedded engine: QEMU's user mode with the plugin of qemu-timing/."""
