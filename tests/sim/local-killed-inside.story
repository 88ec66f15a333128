# Killed inside the gate
# p1 dies between the begin of its transaction and the commit: the gate is
# passed on, what it was about to write is not there, and p2 is served.
store local
processes 2
regime local
turn p1 name a ttl 2s think 100ms hold 50ms
turn p2 name a ttl 2s think 110ms hold 50ms
at 50ms kill-in-call p1 number 3 for 500ms
calm 1s
