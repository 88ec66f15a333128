# A replica that has been up for long takes the address, a second behind
# p1 holds the lock by a grant that the replica never saw, and hears nothing.
# The replica's marker names the primary, and its uptime says nothing: p2, which
# never met either, must not be granted the lock before p1's lease is over.
nodes 1
processes 2
regime amnesia-quarantined
max_ttl 10s
delay 2ms
jitter 1ms
calm 30s
brief p2
turn p1 name a ttl 10s think 2500ms hold 30s
turn p2 name a ttl 10s think 4s wait none hold 2s
at 2800ms silence p1 n1 for 20s
at 3s replica n1 by 1s for 200ms
