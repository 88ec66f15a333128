#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A name server for tests. nameserver.py ADDRESS, of loopback; as root.

Prints each name that it is asked for, a line for each question. One that begins
with "slow" gets no answer, one with "late" 127.0.0.1 half a second later, each
other one that there is no such name.
"""
import socket
import sys
import threading


def name_of(question):
    labels, at = [], 0
    while question[at]:
        end = at + 1 + question[at]
        labels.append(question[at + 1:end].decode("ascii", "replace"))
        at = end
    return ".".join(labels)


def found(asked):
    """127.0.0.1, if an address of IPv4 is asked for; else none."""
    answer = b""
    if asked[-4:-2] == b"\x00\x01":
        answer = b"\xc0\x0c\x00\x01\x00\x01" + bytes(4) + b"\x00\x04\x7f\x00\x00\x01"
    return (asked[:2] + b"\x81\x80" + asked[4:6] + bytes([0, bool(answer)]) +
            bytes(4) + asked[12:] + answer)


def main():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((sys.argv[1], 53))
    print("ready", flush=True)
    while True:
        asked, client = server.recvfrom(512)
        name = name_of(asked[12:])
        print(name, flush=True)
        if name.startswith("late"):
            threading.Timer(0.5, server.sendto, (found(asked), client)).start()
        elif not name.startswith("slow"):
            server.sendto(asked[:2] + b"\x81\x83" + asked[4:6] + bytes(6) +
                          asked[12:], client)


main()
