# Two of five clocks are far ahead, and a third is between them and the rest
# No node may be raised to what no majority can follow: n4 would accept n2's
# counter, to which n1 and n5 refuse to be raised. Not to be shrunk: three nodes
# with such clocks have no majority that is within bound of each other.
nodes 5
processes 3
seed 10
regime wild-clocks
wall n2 5239.9s
wall n3 3715200s
wall n4 1609s
max_ttl 3s
delay 200us
jitter 5ms
calm 8s
turn p1 name a ttl 2s hold 300ms
turn p2 name a think 20ms ttl 2s hold 300ms
turn p3 name a think 30ms ttl 2s hold 300ms
turn p1 name a think 10ms ttl 2s hold 300ms
turn p2 name a think 20ms ttl 2s hold 300ms
turn p3 name a think 20ms ttl 2s hold 300ms
