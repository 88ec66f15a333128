# The minority side loses it, the majority side takes it
# p1 holds on all five servers and is cut off with two of them. It cannot renew
# on three, so that its lease ends; p2, with the other three, is granted the lock
# once they have let go of it.
nodes 5
processes 2
seed 3
regime network
max_ttl 10s
delay 20ms
jitter 5ms
calm 60s
turn p1 name a ttl 3s hold 20s
turn p2 think 1s name a ttl 3s hold 2500ms
at 2s partition p1,n1,n2 for 6s
