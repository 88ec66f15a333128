# A lost answer is not replaced by the next one
# p2 has "a". p1 queues for it, and the answer is lost with the connection,
# whose end comes late. After the lost answer the server sends p1 a grant of "b".
# p1 must not read it as the answer about "a": TCP leaves no gap.
nodes 1
processes 2
seed 1
regime clocks-right-rates
max_ttl 10s
delay 1ms
jitter 100us
calm 10s
turn p2 name a think 100ms ttl 5s hold 3s
turn p1 name a think 500ms ttl 5s
turn p1.2 name b think 600ms ttl 5s
at 499.5ms deafness p1 n1 for 400ms
at 510ms ghost p1 n1 by 50ms for 0s
