"""The definitions in source files: the map of a repository, and outlines of single files.

A program in a sandbox (`sandbox_programs/symbols.py`) parses the files with tree-sitter's grammars,
which the sandbox's environment has.

See ADR 58.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pydantic import TypeAdapter, ValidationError

from agents.attempt import Ports
from agents.runs.helper import run_helper
from agents.sandbox_programs import source
from agents.texts import bounded
from sandbox.protocol import Command

MAP_BYTES: Final = 6_000
"""About 2,000 tokens."""
OUTLINE_CHARACTERS: Final = 6_000
"""The length of all outlines together."""
_OUTLINES = TypeAdapter(dict[str, str])

_C = """
(struct_specifier name: (type_identifier) @name body: (_)) @def
(enum_specifier name: (type_identifier) @name body: (_)) @def
(type_definition declarator: (type_identifier) @name) @def
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @def
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @def
(declaration declarator: (function_declarator declarator: (identifier) @name)) @def
"""
_CPP = """
(class_specifier name: (type_identifier) @name body: (_)) @def
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @def
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @def
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (identifier) @name))) @def
"""
_GO = """
(type_spec name: (type_identifier) @name) @def
(function_declaration name: (identifier) @name) @def
(method_declaration name: (field_identifier) @name) @def
"""
_JAVA = """
(class_declaration name: (identifier) @name) @def
(interface_declaration name: (identifier) @name) @def
(enum_declaration name: (identifier) @name) @def
(record_declaration name: (identifier) @name) @def
(method_declaration name: (identifier) @name) @def
"""
_FUNCTIONS = """
(function_declaration name: (identifier) @name) @def
(generator_function_declaration name: (identifier) @name) @def
(method_definition name: (property_identifier) @name) @def
(program (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)])) @def)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]))) @def)
"""
_JAVASCRIPT = f"""
(class_declaration name: (identifier) @name) @def
{_FUNCTIONS}"""
_TYPESCRIPT = f"""
(class_declaration name: (type_identifier) @name) @def
(abstract_class_declaration name: (type_identifier) @name) @def
(interface_declaration name: (type_identifier) @name) @def
(type_alias_declaration name: (type_identifier) @name) @def
(enum_declaration name: (identifier) @name) @def
{_FUNCTIONS}"""
_PHP = """
(class_declaration name: (name) @name) @def
(interface_declaration name: (name) @name) @def
(trait_declaration name: (name) @name) @def
(function_definition name: (name) @name) @def
(method_declaration name: (name) @name) @def
"""
_PYTHON = """
(class_definition name: (identifier) @name) @def
(function_definition name: (identifier) @name) @def
"""
_RUBY = """
(class name: (constant) @name) @def
(module name: (constant) @name) @def
(method name: (identifier) @name) @def
(singleton_method name: (identifier) @name) @def
"""
_RUST = """
(struct_item name: (type_identifier) @name) @def
(enum_item name: (type_identifier) @name) @def
(trait_item name: (type_identifier) @name) @def
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @def
(function_item name: (identifier) @name) @def
(macro_definition name: (identifier) @name) @def
"""
_GRAMMARS = {
    ("c", "h"): ("tree_sitter_c", "language", _C),
    ("cc", "cpp", "cxx", "hh", "hpp", "hxx"): ("tree_sitter_cpp", "language", _C + _CPP),
    ("go",): ("tree_sitter_go", "language", _GO),
    ("java",): ("tree_sitter_java", "language", _JAVA),
    ("cjs", "js", "jsx", "mjs"): ("tree_sitter_javascript", "language", _JAVASCRIPT),
    ("cts", "mts", "ts"): ("tree_sitter_typescript", "language_typescript", _TYPESCRIPT),
    ("tsx",): ("tree_sitter_typescript", "language_tsx", _TYPESCRIPT),
    ("php",): ("tree_sitter_php", "language_php", _PHP),
    ("py", "pyi"): ("tree_sitter_python", "language", _PYTHON),
    ("rb",): ("tree_sitter_ruby", "language", _RUBY),
    ("rs",): ("tree_sitter_rust", "language", _RUST),
}
GRAMMARS = {ending: grammar for endings, grammar in _GRAMMARS.items() for ending in endings}
"""By file ending: (module, function of the module, query). A query captures a definition as `@def`
and its name as `@name`. A definition inside another definition is shown as part of it."""


async def symbol_map(ports: Ports, task: str) -> str:
    """The map of the repository, ranked by the task: one line for each file, with its definitions.

    Empty without a repository, without grammars in the sandbox, and without definitions. Raises the
    sandbox's errors.
    """
    if ports.repository is None:
        return ""
    request = {"task": task, "bytes": MAP_BYTES, "grammars": GRAMMARS}
    tree = await ports.workspace.tree()
    command = tree.command(("python", "-I", "-c", source("symbols")), json.dumps(request).encode())
    result = await run_helper(ports, command, "of the repository's map")
    return result.stdout.text if result.succeeded else ""


async def outlines(ports: Ports, contents: Mapping[str, bytes]) -> Mapping[str, str]:
    """The definitions in each source file of `contents`, by path, on indented lines. A file without
    definitions has no outline. Raises the sandbox's errors."""
    sources = {path: data for path, data in contents.items() if path.rpartition(".")[2] in GRAMMARS}
    if not sources:
        return {}
    width = OUTLINE_CHARACTERS // len(sources)
    request = {"outline": sorted(sources), "characters": width, "grammars": GRAMMARS}
    argv = ("python", "-I", "-c", source("symbols"))
    command = Command(argv, sources, json.dumps(request).encode())
    result = await run_helper(ports, command, "of the files' outlines", large=True)
    try:
        texts = _OUTLINES.validate_json(result.stdout.text) if result.succeeded else {}
    except ValidationError:  # a parser of a hostile file can write anything
        return {}
    return {
        path: "\n  its definitions, by line:" + "".join(f"\n  {line}" for line in lines)
        for path, text in texts.items()
        if path in sources and (lines := bounded(text, width).splitlines())
    }
