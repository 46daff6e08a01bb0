"""herm's tools, for a program that herm runs: terminal(command="ls"), read_file(path="a"), …

A call returns what the tool returns, as a dict; one that fails raises ToolError with its message.
"""
import json
import os
import socket


class ToolError(Exception):
    """A tool call that failed; `result` is all that it returned."""

    def __init__(self, message, result=None):
        super().__init__(message)
        self.result = result


def call(tool, **arguments):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(os.environ["HERM_TOOLS_SOCKET"])
    with connection, connection.makefile("rwb") as stream:
        asked = {"key": os.environ["HERM_TOOLS_KEY"], "tool": tool, "arguments": arguments}
        stream.write(json.dumps(asked).encode() + b"\n")
        stream.flush()
        answer = json.loads(stream.readline() or b'{"ok": false, "result": {"error": "herm is gone"}}')
    if not answer["ok"]:
        result = answer["result"]
        message = result.get("error") if isinstance(result, dict) else str(result)
        raise ToolError(message or json.dumps(result), result)
    return answer["result"]


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)

    def tool(**arguments):
        return call(name, **arguments)

    tool.__name__ = name
    return tool
