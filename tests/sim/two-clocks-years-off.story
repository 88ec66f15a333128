# Two of five clocks are years off, one ahead and one behind
# The others' counters differ at first, and connections break on raises.
nodes 5
processes 3
seed 11
regime clocks-right-rates
wall n1 94608000s
wall n2 -157680000s
wall n3 1s
wall n4 -6s
max_ttl 3s
delay 200us
jitter 300us
calm 8s
turn p1 name a ttl 2s hold 300ms
turn p2 name a think 20ms ttl 2s hold 300ms
turn p3 name a think 30ms ttl 2s hold 100ms shared
turn p1 name a think 10ms ttl 2s hold 300ms
turn p2 name a think 20ms ttl 2s hold 300ms
turn p3 name a think 20ms ttl 2s hold 300ms
at 500ms cut p1 n3
at 900ms cut p2 n4
at 1.2s cut p3 n5
