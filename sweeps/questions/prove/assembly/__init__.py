"""The primitives of lockimpl/arch/ as litmus tests over the instructions that they compile to."""
