# The place of a dead waiter, at a server whose clock was set back
# p1 dies in the queue, and n1's clock goes back by 40 s: the lease that p1 was
# handed lasts longer by that, and its place too, which is granted the name once.
nodes 1
processes 2
seed 2036599
regime wild-clocks
max_ttl 5.1s
node_timeout 81ms
delay 200us
jitter 0s
late 10688ppm by 8.289s
calm 1.065s
turn p1 name a ttl 5.1s
turn p2 name a ttl 5.1s hands-on
turn p2 name a ttl 5.1s
turn p2 name a ttl 5.1s
at 1.05s ghost p1 n1 by 14.7ms for 0s
at 1.05s node-clock n1 by -39.974744s
at 1.065s crash p1 for 0s
