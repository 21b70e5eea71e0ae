"""The languages whose definitions a repository's map shows: tree-sitter's grammars, which the
sandbox's environment has, and a query for each. A query captures a `@name`, and the whole of its
definition as `@def`: what lies in another one is shown in it.
"""

from __future__ import annotations

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
"""By the ending of a file's name: (module, function of the module, query)."""
