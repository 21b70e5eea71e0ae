"""HumanEval: problems with solutions and hidden tests, as published by OpenAI (MIT licence).

problems   reading them from a file, and making programs of them; pure but for `read`
"""
