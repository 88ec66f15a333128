# The first waiter looks often behind another library's lock
# p1 holds the name with a plain SET NX for three seconds, and frees it without a push.
nodes 1
processes 2
seed 1
regime network
max_ttl 10s
node_timeout 1s
delay 1ms
jitter 0s
calm 10ms
turn p1 name a ttl 10s hold 3s foreign
turn p2 name a think 100ms ttl 10s hold 5ms
