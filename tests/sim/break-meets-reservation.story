# A break that waits begins before a reservation is confirmed, and frees the name
# p1 waits, and is granted the name by the break, which takes no place of its own.
nodes 1
processes 3
seed 351566133
regime network
max_ttl 72ms
node_timeout 24ms
queues off
delay 200us
jitter 0s
calm 3.25ms
turn p1 name a think 1ms ttl 72ms
turn p2 name a ttl 72ms hold 764us reserve 20ms
turn p3 name a think 2.5ms ttl 72ms break
