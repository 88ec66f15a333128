# p2's "whole" arrives after a flush
# p2 and p3 have watched n1 for long enough. p3 is granted the lock, then n1 is
# flushed, then p2's script arrives. It must not bring back the marker that
# vouched for the data that are gone: p4, a command, would be granted the lock.
nodes 1
processes 4
regime flush
max_ttl 10s
node_timeout 5s
delay 2ms
jitter 0s
calm 40s
brief p4
turn p2 name b ttl 10s wait forever
turn p3 name a ttl 10s hold 20s
turn p4 name a ttl 10s think 14s wait none hold 3s
at 0s flush n1
at 10017ms silence p2 n1 for 2s
at 11s silence p3 n1 for 15s
at 11s flush n1
