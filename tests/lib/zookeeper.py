# SPDX-License-Identifier: Apache-2.0
# What a ZooKeeper has, and other programs' locks, for shell tests: with kazoo.
# Sourced tests call it by zookeeper_do (zookeeper.sh).
#
#   zookeeper.py HOSTS ls PATH              the children, one a line
#   zookeeper.py HOSTS tree                 all paths but ZooKeeper's own, and
#                                           those below others' nodes
#   zookeeper.py HOSTS get PATH             its value
#   zookeeper.py HOSTS stat PATH FIELD      czxid, version, ephemeralOwner, ...
#   zookeeper.py HOSTS put PATH TEXT        created with its parents, or replaced
#   zookeeper.py HOSTS delete PATH          with all below
#   zookeeper.py HOSTS expire SESSION       destroys a session, given as 0x...
#   zookeeper.py HOSTS lock PATH [PATTERN]  kazoo's Lock: prints "held", and holds
#                                           until a line is read. It heeds its own
#                                           nodes, and those with the PATTERN
#   zookeeper.py HOSTS try PATH [PATTERN]   the same, or "busy" at once
#   zookeeper.py HOSTS node PATH            an ephemeral node of just this name: as
#                                           `lock`
#   zookeeper.py HOSTS bare PATH            a node in which anyone may only read
#   zookeeper.py HOSTS quota PATH N         no more than N nodes, with PATH, which is
#                                           there; servers need enforceQuota=true
#   zookeeper.py HOSTS cut TEXT PORTS       a proxy to the first host, until a line is
#                                           read, with its port in the file PORTS. The
#                                           first connection that sends the TEXT and a
#                                           NUL byte is closed, and the TEXT is lost:
#                                           then it prints "cut"
#   zookeeper.py HOSTS counter DIR PATH N   in the last snapshot of a server that is
#                                           stopped: N nodes were created in PATH
import glob
import logging
import os
import select
import socket
import struct
import sys
import zlib

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.protocol.states import KazooState
from kazoo.security import make_acl

logging.basicConfig(level=logging.CRITICAL)
MASK64 = (1 << 64) - 1


class JavaRandom:
    """java.util.Random, from which the server draws a session's password."""

    def __init__(self, seed):
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def next_int(self):
        self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self.seed >> 16

    def next_bytes(self, count):
        data = b''
        while len(data) < count:
            data += self.next_int().to_bytes(4, 'little')
        return data[:count]


def password_of(session):
    return JavaRandom((session ^ 0xB3415C00) & MASK64).next_bytes(16)


def connected(hosts, **more):
    client = KazooClient(hosts=hosts, timeout=10, **more)
    client.start(timeout=20)
    return client


def takes_over(address, session):
    """Takes a session over, and closes it, in one packet: its client connects
    again at once, and the server may close this connection before it has read
    all. Returns false if there is no such session."""
    connect = struct.pack('>iqiqi16sb', 0, 0, 10000, session, 16,
                          password_of(session), 0)
    close = struct.pack('>ii', 1, -11)
    reply = b''
    with socket.create_connection(address, timeout=10) as server:
        server.sendall(b''.join(struct.pack('>i', len(part)) + part
                                for part in (connect, close)))
        try:
            part = server.recv(4096)
            while part:
                reply += part
                part = server.recv(4096)
        except ConnectionError:
            pass
    return len(reply) < 20 or struct.unpack('>q', reply[12:20])[0] != 0


def expire(hosts, session):
    host, port = hosts.split(',')[0].rsplit(':', 1)
    if not takes_over((host, int(port)), session):
        sys.exit('no such session: %#x' % session)
    for _ in range(100):
        if not takes_over((host, int(port)), session):
            return
    sys.exit('its client is always faster')


def tree(client, path):
    for child in sorted(client.get_children(path)):
        below = path.rstrip('/') + '/' + child
        if below != '/zookeeper':
            print(below)
            try:
                tree(client, below)
            except (NoAuthError, NoNodeError):
                pass


def put(client, path, value):
    if client.exists(path):
        client.set(path, value)
    else:
        client.create(path, value, makepath=True)


def lock(client, waits, path, *patterns):
    lost = []
    client.add_listener(
        lambda state: lost.append(state) if state == KazooState.LOST else None)
    held = client.Lock(path, 'kazoo', extra_lock_patterns=patterns)
    if not held.acquire(blocking=waits):
        print('busy', flush=True)
        return
    print('held', flush=True)
    sys.stdin.readline()
    if lost:
        print('lost', flush=True)
    else:
        held.release()


def node(client, path):
    client.create(path, ephemeral=True, makepath=True)
    print('held', flush=True)
    sys.stdin.readline()


def cut(hosts, text, ports):
    host, port = hosts.split(',')[0].rsplit(':', 1)
    door = socket.create_server(('127.0.0.1', 0))
    with open(ports, 'w') as file:
        file.write('%d\n' % door.getsockname()[1])
    peers, closing = {}, text + b'\0'
    while True:
        ready, _, _ = select.select([sys.stdin, door, *peers], [], [])
        if sys.stdin in ready:
            return
        if door in ready:
            client = door.accept()[0]
            server = socket.create_connection((host, int(port)))
            peers[client], peers[server] = (server, True), (client, False)
        for end in ready:
            if end not in peers:
                continue
            other, is_client = peers[end]
            try:
                data = end.recv(65536)
            except ConnectionError:
                data = b''
            if closing and is_client and closing in data:
                data, closing = b'', b''
                print('cut', flush=True)
            if data:
                other.sendall(data)
            else:
                del peers[end], peers[other]
                end.close()
                other.close()


# A snapshot's sums are of all bytes before them, and are found by that.
SUM = struct.Struct('>q')
CVERSION = 4 + 8 + 4 * 8 + 4  # after the data: its ACL, four Stat fields, version


def sums_of(data):
    sums, known = [], 1
    for at, byte in enumerate(data[:-SUM.size]):
        if SUM.unpack_from(data, at)[0] == known:
            sums.append(at)
        known = zlib.adler32(bytes((byte,)), known)
    return sums


def set_counter(folder, path, count):
    file = max(glob.glob(folder + '/snapshot.*'), key=os.path.getmtime)
    with open(file, 'rb') as snapshot:
        data = bytearray(snapshot.read())
    sums = sums_of(data)
    key = struct.pack('>i', len(path)) + path
    at = data.index(key) + len(key)
    at += max(struct.unpack_from('>i', data, at)[0], 0)
    struct.pack_into('>i', data, at + CVERSION, count)
    for place in sums:
        SUM.pack_into(data, place, zlib.adler32(data[:place]))
    with open(file, 'wb') as snapshot:
        snapshot.write(data)


def main():
    hosts, what, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == 'expire':
        return expire(hosts, int(rest[0], 16))
    if what == 'counter':
        return set_counter(rest[0], rest[1].encode(), int(rest[2]))
    if what == 'cut':
        return cut(hosts, rest[0].encode(), rest[1])
    client = connected(hosts)
    if what == 'ls':
        print('\n'.join(sorted(client.get_children(rest[0]))))
    elif what == 'tree':
        tree(client, '/')
    elif what == 'get':
        sys.stdout.buffer.write(client.get(rest[0])[0] + b'\n')
    elif what == 'stat':
        print(getattr(client.get(rest[0])[1], rest[1]))
    elif what == 'put':
        put(client, rest[0], rest[1].encode())
    elif what == 'delete':
        client.delete(rest[0], recursive=True)
    elif what == 'bare':
        client.create(rest[0], acl=[make_acl('world', 'anyone', read=True)],
                      makepath=True)
    elif what == 'quota':
        below = '/zookeeper/quota' + rest[0]
        put(client, below + '/zookeeper_stats', b'count=1,bytes=0')
        put(client, below + '/zookeeper_limits',
            b'count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=' +
            rest[1].encode())
    elif what in ('lock', 'try'):
        lock(client, what == 'lock', *rest)
    elif what == 'node':
        node(client, *rest)
    else:
        sys.exit('zookeeper.py: %s?' % what)
    client.stop()


main()
