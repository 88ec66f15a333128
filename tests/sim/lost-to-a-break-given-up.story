# A majority refuses p3's renewal for p2's break, which is given up: p3 is lost
# although a majority has it again when it hears of that.
nodes 3
processes 3
seed 17535232
regime clocks-right-rates
max_ttl 114ms
node_timeout 25ms
queues off
delay 200us
jitter 434us
host p3 p1
rate p1 -4500ppm
wall n2 94941.966s
calm 599ms
turn p1 name a ttl 114ms hold 95.2ms once 1.968s
turn p2 name a think 117ms ttl 114ms once 1.968s
turn p2 name a think 107ms ttl 114ms once 1.968s
turn p2 name a ttl 114ms once 1.968s
turn p2 name a think 51.2ms wait none ttl 114ms break
turn p2.2 name a think 94ms ttl 114ms once 1.968s
turn p2.2 name a think 16ms wait none ttl 114ms
turn p2.2 name a think 40ms ttl 114ms
turn p2.3 name a think 111ms wait none ttl 114ms blocking
turn p3 name a think 79.7ms wait 31ms ttl 114ms
turn p3 name a think 6ms ttl 114ms once 1.968s
turn p3 name a ttl 114ms foreign
turn p3.3 name a think 86.7ms ttl 114ms hold 1ms foreign
turn p3.3 name a think 93ms ttl 114ms
turn p3.3 name a ttl 114ms
turn p3.3 name a think 8.91ms ttl 114ms hold 20.5ms extends 1
at 3.4ms cut p3 n1
at 92ms stop n3 for 11ms
at 100ms deafness p3 n1 for 83.9ms
at 104ms ghost n1 by 33.5ms for 0s
at 126ms ghost n2 by 16ms for 3ms
at 128ms ghost n3 by 31.9ms for 0s
at 140ms pause-midway p2 for 71.2ms
at 143ms ghost n2 by 5.53ms for 0s
at 143ms pause-midway p2 for 111.734ms
at 147ms slow p3 n3 by 9.47ms for 13ms
at 173ms ghost n3 by 20.4ms for 1ms
at 178ms ghost n2 by 32.5ms for 0s
at 213ms pause-midway p2 for 108ms
at 213ms ghost n1 by 35.8ms for 0s
at 314ms ghost n2 by 34.4ms for 10ms
at 314ms ghost n3 by 34.4ms for 1ms
