"""llama.cpp's server of Python, which is strict about the schemas of tools.

Alone it converts a tool's schema only when that tool must be called, and where it cannot it goes on
without. llama.cpp's own `llama-server` converts all of them at once and refuses the request. So does
this: by llama.cpp's converter and its reader of grammars, with the status and body of that server.
"""

import json
import sys

import llama_cpp
import uvicorn
from llama_cpp.llama_grammar import json_schema_to_gbnf
from llama_cpp.server.app import create_app
from llama_cpp.server.settings import ModelSettings, ServerSettings

model, port, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = llama_cpp.Llama(model, vocab_only=True, verbose=False)
vocabulary = llama_cpp.llama_model_get_vocab(words.model)


def refusal(schema):
    try:
        grammar = json_schema_to_gbnf(json.dumps(schema))
    except Exception as error:
        return f"JSON schema conversion failed:\n{error}"
    sampler = llama_cpp.llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
    if not sampler:
        return "Failed to initialize samplers: failed to parse grammar"
    llama_cpp.llama_sampler_free(sampler)
    return None


class Strict:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        tools = json.loads(body).get("tools") or []
        found = [refusal(tool["function"]["parameters"]) for tool in tools]
        why = next((it for it in found if it), None)
        if why is None:
            told = False

            async def again():
                nonlocal told
                if told:
                    return await receive()
                told = True
                return {"type": "http.request", "body": body, "more_body": False}

            return await self.app(scope, again, send)
        error = {"code": 400, "message": why, "type": "invalid_request_error"}
        headers = [(b"content-type", b"application/json; charset=utf-8")]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})


app = create_app(
    server_settings=ServerSettings(host="127.0.0.1", port=port),
    model_settings=[ModelSettings(model=model, n_ctx=context)],
)
uvicorn.run(Strict(app), host="127.0.0.1", port=port)
