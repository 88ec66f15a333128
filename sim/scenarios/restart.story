# A server comes back empty
# n1 has forgotten that p1 holds the lock. Until every lock that it may have
# forgotten is over it is in quarantine, and its grants do not count: p2 gets it
# long after p1 has stopped.
nodes 1
processes 2
seed 5
regime amnesia-quarantined
max_ttl 5s
delay 10ms
jitter 2ms
calm 60s
turn p1 name a ttl 4s hold 7s writes 1
turn p2 think 1s name a ttl 4s hold 2s writes 1
at 2500ms empty n1 for 500ms
