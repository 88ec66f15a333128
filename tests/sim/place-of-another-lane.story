# Two lanes of p1 wait for one name, and what one of them leaves outlasts it
# RELEASE is repeated for as long as that lane's lease, not the other one's.
nodes 1
processes 4
seed 2019533
regime network
max_ttl 5.39s
node_timeout 51ms
delay 200us
jitter 0s
calm 11.98s
turn p1 name a ttl 1.871s hold 960ms
turn p1 name a ttl 4.941s hold 297ms permits 3
turn p1 name a ttl 3.056s
turn p1.3 name a think 1ms ttl 3.791s
turn p1.3 name a think 1ms ttl 3.734s permits 3
turn p2 name a ttl 1.432s hold 177ms permits 3
turn p3 name a ttl 3.329s hold 6.09s
turn p4 name a ttl 4.674s hold 525ms
turn p4 name a ttl 1.805s hold 1.05s permits 3
at 7.69s silence p1 for 4.29s
