# A try for a permit has one part when 0.9 s are over, since two of three servers are not
# heard: it waits for the other part no longer, or it would take more than a second.
nodes 3
processes 2
seed 756698162
regime wild-clocks
max_ttl 975ms
node_timeout 236ms
delay 200us
jitter 171us
calm 1.817s
turn p1 name a think 3ms ttl 975ms hold 3ms permits 2 extends 3
turn p1 name a ttl 975ms hold 59.2ms permits 2 extends 2
turn p1 name a ttl 975ms hold 57.5ms permits 2
turn p1 name a ttl 975ms permits 2
turn p1 name a think 566ms wait none ttl 975ms permits 2
turn p2 name a ttl 975ms permits 2
turn p2 name a think 130ms ttl 975ms hold 325ms permits 2
at 8ms ghost n2 by 320ms for 547ms
at 624ms full n3 for 126ms
at 757ms deafness n1 for 763ms
at 757ms deafness n2 for 1.06s
