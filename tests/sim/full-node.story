# A node that cannot be raised while it is full
# p1 has a majority whose counters differ, and one of its nodes has no memory to
# be raised with: it asked 64 times in a row, then never again.
nodes 3
processes 2
seed 513
regime restart-durable
max_ttl 27.864s
node_timeout 84ms
delay 200us
jitter 0s
rate p2 -4500ppm
calm 437s
turn p1 name a think 30.8s ttl 27.864s hold 1.5s
turn p1 name a ttl 27.864s hold 1.71s
turn p1 name a think 12.8s ttl 27.864s hold 2.33s
turn p1 name a think 35.9s ttl 27.864s
turn p1 name a think 82.4s ttl 27.864s
turn p2 name a think 31.2s ttl 27.864s hold 1.06s
turn p2 name a think 28.543514s ttl 27.864s
turn p2 name a think 67.8s ttl 27.864s
turn p2 name a think 64.4s ttl 27.864s
turn p2 name a think 11.5s ttl 27.864s hold 23.5s
at 49.8s pause-midway p1 for 26.7s
at 55.3s stop n1 for 32.5s
at 55.3s stop n3 for 32.5s
at 55.6s pause-midway p1 for 41.9s
at 115s stop n2 for 7.45s
at 115s stop n3 for 7.45s
at 153.997294s deafness n1 for 78.6s
at 154s stop n2 for 80.4s
at 170s pause-midway p1 for 7.3s
at 175s restart n3 for 2.38s
at 202s restart n3 for 5.45s
at 279s deafness p2 n2 for 41.9s
at 289s restart n1 for 0s
at 297s full n1 for 5.89s
at 331s full n2 for 7.74s
at 336s deafness n3 for 7.3s
