# Of two sharers, one repairs a node that lost the fence of the other
# Sharers have no order among themselves: the one with the lesser fence may return.
nodes 3
processes 2
seed 3301627
regime amnesia-quarantined
max_ttl 4.477s
node_timeout 798ms
delay 200us
jitter 0s
calm 1.318625s
turn p1 name a ttl 4.11s hold 2.49s shared
turn p2 name a think 2ms ttl 3.898s shared
at 0s age n2 by 12.6ms for 0s
at 4ms empty n2 for 0s
