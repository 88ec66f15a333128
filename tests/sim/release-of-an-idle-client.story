# A release by a client that was idle, while two of five servers are late
# p4 begins to reconnect to n4 with its ACQUIRE, and is done after the others have
# replied. The answers of n2 and n5 to its RELEASE are late: it is unknown.
nodes 5
processes 5
seed 2064714
regime evict
max_ttl 20.071s
node_timeout 50ms
queues off
delay 2.503ms
jitter 15us
late 4384ppm by 12.515s
calm 9.63s
turn p2 name a ttl 20.071s hold 383ms once 14.07s withdraws
turn p2 name a think 888ms ttl 20.071s hold 371ms
turn p4 name a think 2.36s wait none ttl 20.071s
turn p4 name a think 7.03s ttl 20.071s
turn p5 name a think 1.68s ttl 20.071s hold 319ms once 14.07s
at 13ms silence n4 for 2.95s
