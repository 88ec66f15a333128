# A node was raised beside a clock far ahead, which then moved on
# n1 was down, so that n2 and n3 agreed on what n3's clock says. After that n3 is
# days ahead, and n1 cannot be raised to n2's counter in one step.
nodes 3
processes 2
seed 1
regime wild-clocks
wall n2 3000s
wall n3 6600s
max_ttl 3s
delay 200us
jitter 300us
calm 8s
turn p1 name a ttl 2s hold 300ms
turn p1 name a think 1s ttl 2s hold 300ms
turn p2 name a think 3s ttl 2s hold 300ms
at 0s stop n1 for 2.5s
at 2.6s node-clock n3 by 360000s
