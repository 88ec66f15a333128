# A break, and one clock of three that was years ahead and is set right
# The expiry of the holder at that node is then years away. No client can hold the
# name without a majority: the break must end with the leases of the others.
nodes 3
processes 2
seed 2000792
regime wild-clocks
max_ttl 383ms
node_timeout 50ms
delay 2.02ms
jitter 0s
wall n1 278381773.779s
calm 15ms
turn p1 name a ttl 104ms hold 1ms
turn p2 name a ttl 297ms
turn p2 name a ttl 196ms break
at 0s crash p2 for 0s
at 15ms node-clock n1 by -278381773.779s
