"""Packing: the events of a job that has ended, in fewer bytes. Pure.

Each is compressed by itself, so that its number still finds it. Most are short, so a dictionary of
what nearly all of them say stands before each; it can never change, since stored events need it:
another one takes another mark.
"""

from __future__ import annotations

import zlib

MARK = b"z"
"""Begins a packed body; JSON begins with a brace."""
_DICTIONARY = (
    b'{"kind":"tool_used","epoch":1,"data":{"tool":"read_file","path":"main.py","ok":true,"note":"",'
    b'"kind":"summarized","epoch":1,"data":{"text":"'
    b'"kind":"answered","epoch":1,"data":{"revision":1,"text":"'
    b'{"kind":"critiqued","epoch":1,"data":{"revision":1,"verdict":"approve","feedback":"","run":"r1",'
    b'"runs":1,"score":null,"failed":[],"overruled":null,"by":"critic","ends":null,"checks":null}}'
    b'{"kind":"planned","epoch":1,"data":{"steps":["Write","Run"],"source":"model","note":""}}'
    b'{"kind":"submitted","data":{"by":"","task":"","review":false,"model":null,"priority":"normal"}}'
    b'{"kind":"started","data":{"attempt":1,"worker":"'
    b'{"kind":"succeeded","data":{"approved_by":"critic"}}'
    b'{"kind":"repaired","epoch":1,"data":{"run":"r2","of":"r1","class":"assertion","cause":"'
    b'"diff":{"text":"--- \\n+++ \\n@@ -1,2 +1,2 @@\\n","dropped_bytes":0,"digest":null},'
    b'"lines":{"added":1,"removed":1},"model":"groq:llama-3.3-70b-versatile","level":0,"attempt":1,'
    b'"revision":1,"fixed":true,"closed":["r1"],"same":null}}'
    b"\\n[...  characters left out ...]\\nTraceback (most recent call last):\\n"
    b'  File \\"/run/main.py\\"'
    b", line 1, in <module>\\n    import numpy as np\\n    def __init__(self, :\\n        return "
    b"assert print(f'\\nfrom import matplotlib.pyplot as plt\\nAssertionError: \\nValueError: "
    b'{"kind":"run_finished","epoch":1,"data":{"id":"r1","number":1,"revision":1,"by":"executor",'
    b'"tool":"python","code":{"text":"import ","dropped_bytes":0,"digest":null},"end":"exited",'
    b'"exit_code":0,"signal":null,"stdout":{"text":"","dropped_bytes":0,"digest":null},"stderr":'
    b'{"text":"","dropped_bytes":0,"digest":null},"seconds":0.01,"succeeded":true,"failure":null,'
    b'"on":null,"workspace":null,"artifacts":[{"name":"plot.png","digest":"","size":0,'
    b'"media_type":"image/png"}],"refused":[]}}'
    b'{"kind":"model_called","epoch":1,"data":{"call":"lc_run--01a20625-0","role":"planner",'
    b'"role":"critic","role":"summarizer","role":"executor","model":"groq:","input_tokens":10,'
    b'"cached_input_tokens":0,"output_tokens":5,"cost_usd":"0.000","cost_usd":null,"seconds":0.1}}'
)
"""What is most frequent stands last: the nearest is found in the fewest bits."""


def packed(stored: bytes) -> bytes | None:
    """A stored event ("at body") in fewer bytes; None where that gains nothing."""
    at, _, body = stored.partition(b" ")
    if body.startswith(MARK):
        return None
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS, zdict=_DICTIONARY)
    smaller = b" ".join((at, MARK + packer.compress(body) + packer.flush()))
    return smaller if len(smaller) < len(stored) else None


def unpacked(body: bytes) -> bytes:
    """The body of an event, packed or not."""
    if not body.startswith(MARK):
        return body
    unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS, zdict=_DICTIONARY)
    return unpacker.decompress(body[len(MARK) :]) + unpacker.flush()
