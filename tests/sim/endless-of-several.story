# Of several names, a wait without end is never BUSY
# p1 stands still in the first seconds of its wait. One server has named the
# holder, and no majority was ever reached: that is UNAVAILABLE.
nodes 3
processes 2
seed 3202193
regime failover
max_ttl 18.255s
node_timeout 50ms
quarantine off
queues off
delay 1.125ms
jitter 0s
brief p1
calm 20.511s
turn p1 name c think 8.15s wait none ttl 18.255s
turn p1 name a ttl 18.255s
turn p1 name a,c think 1ms ttl 18.255s
turn p2 name a ttl 18.255s hold 3.75s
at 0s stop n2 for 19s
at 567ms stop n1 for 13.3s
at 2.26s silence n3 for 11.3s
at 13.861s pause p1 for 6.65s
