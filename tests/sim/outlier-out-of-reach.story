# A server 83 minutes ahead and one 34 minutes ahead agree on a counter that the
# third refuses: its clock is right. Then the first is set right, and has no vote until
# its old leases are over. The name has no majority until the third's clock is within
# 71 minutes of the counter, and one then (docs/caveats.md).
nodes 3
processes 1
seed 910640
regime wild-clocks
max_ttl 4.859s
node_timeout 94ms
delay 200us
jitter 0s
wall n1 4988.3s
calm 211ms
turn p1 name b ttl 4.859s reserve 1.994s
turn p1 name b ttl 4.859s
at 0s node-clock n3 by 2050s
at 0s stop n3 for 1ms
at 211ms node-clock n1 by -4988.3s
