# A mark at two of five nodes
# p2 starts no command while its mark is at two nodes alone: a try of another process
# may meet the other three.
nodes 5
processes 3
seed 1010
regime network
max_ttl 1.54s
node_timeout 7ms
queues off
delay 200us
jitter 213us
late 989ppm by 996ms
shatter 11944ppm
calm 8.15525s
turn p2 name a think 11ms ttl 1.54s once 3.569s
turn p2 name a think 1.41s ttl 1.54s hold 2.09s
turn p2 name b ttl 1.54s once 3.569s
turn p3 name a ttl 1.54s hold 1.33s once 3.569s
turn p3 name a ttl 1.54s hold 2.31s
at 6ms stop n2 for 2.45s
at 1.45s ghost p2 n1 by 1.79ms for 0s
at 1.744s ghost p2 n3 by 209ms for 0s
at 1.874s ghost p2 n1 by 192ms for 0s
at 1.931s ghost p2 n4 by 22.3ms for 0s
at 1.963s ghost n3 by 513ms for 0s
at 4.78s pause-midway p2 for 1.88s
at 6.49s silence n5 for 1.49s
at 7.225s partition n1,n2 for 799ms
