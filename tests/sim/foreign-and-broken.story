# A name is broken at once while p3 stands still before it sees its grant
# Another library takes it meanwhile: what p3 is told then is void.
nodes 1
processes 5
seed 4003550
regime network
max_ttl 2.182s
node_timeout 50ms
delay 1.184ms
jitter 0s
host p2 p1
host p5 p1
calm 3.579s
turn p1 name a think 78.7ms ttl 2.182s
turn p1 name a ttl 2.182s hold 178ms
turn p1 name a think 358ms ttl 2.182s
turn p1 name a think 508ms ttl 2.182s once 4.745s
turn p2 name a ttl 2.182s
turn p2 name a ttl 2.182s hold 59ms once 4.745s
turn p2 name a think 192ms ttl 2.182s hold 117ms foreign
turn p3 name a ttl 2.182s hold 85.6ms foreign
turn p3 name a think 113ms ttl 2.182s foreign
turn p4 name a think 118ms ttl 2.182s
turn p4 name a think 2ms ttl 2.182s hold 113ms
turn p4 name a think 576ms ttl 2.182s break
turn p4 name a think 337ms ttl 2.182s foreign
turn p5 name a think 685ms ttl 2.182s
turn p5 name a ttl 2.182s once 4.745s
turn p5 name a think 144ms ttl 2.182s break-now
at 0s pause-midway p2 for 778ms
at 88ms pause-midway p3 for 95.9ms
at 498ms reboot p2 for 2.54s
at 1.719s deafness p4 n1 for 1.86s
