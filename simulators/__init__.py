"""Worlds to search in: explicit models, Python objects, graphs, and games with known values."""

from simulators.asynchronous import search_async
from simulators.graph import GraphError, SimulationGraph, compile_graph, read_graph
from simulators.python import PythonSimulator
from simulators.tabular import TabularModel

__all__ = [
    "GraphError",
    "PythonSimulator",
    "SimulationGraph",
    "TabularModel",
    "compile_graph",
    "read_graph",
    "search_async",
]
