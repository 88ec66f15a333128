# Entries of the marker before
# Both clients have watched n1 after it came back empty, and have noted so
# beside its marker. It restarts with a memory of that time: p1 writes a new
# marker, and what was noted beside the old one must go with it. Else p2, which
# was about to write one too, takes n1 for a node that it has watched, and is
# granted the fence that p1 had.
nodes 1
processes 2
regime amnesia-quarantined
max_ttl 13.546s
node_timeout 50ms
delay 200us
jitter 0s
calm 20s
turn p1 name c ttl 7s hold 5s
turn p1.2 name a ttl 7s think 15.2s
turn p2 name b ttl 7s hold 5s
turn p2.2 name a ttl 7s think 16.1s
at 0s empty n1 for 1.09s
at 16s age n1 by 11.7s for 0s
at 16s slow p2 n1 by 50us for 1s
