# A break meets a grant, and one of its own requests comes late
# n1 and n3 tell p2 that the name is free; then p4 gets it at n2 and n3. The BREAK
# at n2 comes after that: what it takes from p4 there must not be freed.
nodes 3
processes 4
seed 4000802
regime network
max_ttl 120ms
node_timeout 40ms
queues off
delay 200us
jitter 23us
late 13043ppm by 26ms
shatter 112481ppm
calm 11.2ms
turn p1 name c ttl 120ms
turn p2 name a think 2ms ttl 120ms
turn p2 name b ttl 120ms break
turn p3 name b think 5.1ms ttl 120ms
turn p4 name a ttl 120ms
turn p4 name a,b,c ttl 120ms hold 9.65ms
at 0s crash p4 for 3.78ms
at 4.1ms cut p4 n1
