"""Machines and plans, programs, engines, running, searching, and the questions."""
