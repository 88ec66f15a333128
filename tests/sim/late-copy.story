# A request that arrives twice, and late, does not renew what is over
# p1 asked twice and has its lock. A leap of the clock ends it, p2 has it and
# gives it back, and then the first copy of p1's request takes the name for p1,
# at a higher counter: that is not what p1 renews.
nodes 1
processes 2
regime wild-clocks
max_ttl 2s
delay 200us
jitter 50us
calm 1.25s
turn p1 name a ttl 2s hold 10ms
turn p1 name a think 190ms ttl 2s hold 750ms
turn p2 name a think 500ms ttl 2s
at 201ms ghost p1 n1 by 20ms for 500ms
at 300ms node-clock n1 by 3s
