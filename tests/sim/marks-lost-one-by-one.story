# Two of three nodes lose a mark, a quarantine apart; the third is the slowest
# The command of p1 has run, and its period is an hour. n1 and n2 come back empty, one
# after the other, with no try in between. p2 must have the answer of n3, which is
# the last, before it finds that no node has a mark.
nodes 3
processes 2
regime amnesia-quarantined
max_ttl 10s
delay 200us
jitter 0s
calm 60s
turn p1 name a ttl 2s hold 50ms once 1h
turn p2 name b ttl 2s think 3s hold 50ms
turn p2 name b ttl 2s think 13s hold 50ms
turn p2 name b ttl 2s think 24s hold 50ms
turn p2 name a ttl 2s think 9s hold 50ms once 1h
at 2s empty n1 for 100ms
at 15s empty n2 for 100ms
at 45s slow p2 n3 by 2ms for 14s
