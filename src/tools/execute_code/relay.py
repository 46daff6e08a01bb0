"""Says on its output what a program asks, for a herm that is elsewhere: a line a call, its name first.

Arguments: the folder where calls are left, the bytes of a call at most, the seconds that it runs at most.
It ends with the folder.
"""
import os
import re
import sys
import time

folder, bytes_max, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + int(sys.argv[3])
try:
    while time.monotonic() < end:
        for name in os.listdir(folder):
            if not re.fullmatch("ask-[0-9a-f]{32}", name):
                continue
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                asked = file.read(bytes_max)
            os.remove(path)
            sys.stdout.buffer.write(name[4:].encode() + b" " + asked.replace(b"\n", b" ") + b"\n")
            sys.stdout.buffer.flush()
        time.sleep(0.01)
except FileNotFoundError:
    pass
