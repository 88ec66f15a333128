# A server that forgot takes nothing back below its clock floor
# p1 holds on with a fence that is lower than what n3 forgot: p2 had been there.
nodes 3
processes 2
seed 483
regime amnesia-quarantined
max_ttl 3.782s
node_timeout 50ms
queues off
delay 200us
jitter 0s
calm 7.2s
turn p1 name a think 4.67s ttl 1.624s hold 2.94s permits 1
turn p2 name a think 4.79s wait none ttl 1.209s permits 1
at 459ms age n3 by 16.2ms for 0s
at 6.57s age n3 by 2.73s for 0s
