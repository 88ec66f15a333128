# Three in line, one hop each
# A release grants the lock to the first in the queue, on the server itself, which
# notifies that waiter at once: there is no polling, and no waiter is overtaken.
nodes 1
processes 4
seed 4
regime network
max_ttl 10s
delay 5ms
jitter 2ms
calm 20s
turn p1 think 60ms name a ttl 2s hold 130ms
turn p2 think 90ms name a ttl 2s hold 60ms
turn p3 think 110ms name a ttl 2s hold 60ms
turn p4 think 130ms name a ttl 2s hold 60ms
