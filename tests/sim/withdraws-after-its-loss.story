# A run that lost its lock withdraws no mark of a later run
# p1 is paused until its lease and its period are over, and p2 has begun the next
# one. p1 then withdraws: the mark that it finds is of p2, has another fence, and
# stays, so p3 starts no command.
nodes 3
processes 3
regime network
max_ttl 2s
delay 200us
jitter 0s
calm 5s
turn p1 name a ttl 1s once 1.5s hold 50ms withdraws
turn p2 name a think 2s ttl 1s once 10s hold 50ms
turn p3 name a think 4s ttl 1s once 10s hold 50ms
at 20ms pause p1 for 3s
