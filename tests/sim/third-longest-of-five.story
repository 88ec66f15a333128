# Of five votes, two are fresh and the third is old: the old one counts
# n3 gives p2 the lock and hears nothing of it afterwards. At n1 and n2 its turn
# comes almost a second later; n4 and n5 never hear p2. What p2 has from n3 is
# over then, and p3 is granted the lock by n3, n4 and n5.
nodes 5
processes 3
regime network
max_ttl 1s
jitter 0s
calm 12s
wall n1 -1900ms
wall n2 -1900ms
wall n3 -1900ms
wall n4 -1900ms
wall n5 -1900ms
turn p1 name a ttl 1s hold 450ms
turn p2 name a ttl 1s think 430ms hold 3s
turn p3 name a ttl 1s think 500ms hold 3s
at 0s silence p2 n4 for 10s
at 0s silence p2 n5 for 10s
at 400ms silence p1 n1 for 10s
at 400ms silence p1 n2 for 10s
at 440ms silence p2 n3 for 10s
