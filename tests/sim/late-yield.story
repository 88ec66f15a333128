# A YIELD that comes late gives back nothing but what it names
# One of p3's comes when it holds the lock: who waits must not get it.
nodes 3
processes 4
seed 733
regime network
max_ttl 148ms
node_timeout 5ms
queues off
delay 200us
jitter 94us
wall n3 -231ms
calm 665ms
turn p2 name b think 116ms ttl 148ms
turn p2 name b think 45.8ms ttl 148ms
turn p2 name a ttl 148ms hold 1ms
turn p3 name a wait none ttl 148ms
turn p3 name a think 89.3ms ttl 148ms hold 70.5ms
turn p3 name a ttl 148ms
turn p4 name a think 55ms ttl 148ms hold 3.77ms
turn p4 name a,b think 7.76ms ttl 148ms
turn p4 name b ttl 148ms hold 10.7ms
turn p4 name a think 21ms ttl 148ms
turn p4.2 name a ttl 148ms
at 38.8ms partition p1,n1 for 19.5ms
at 66.9ms stop n2 for 92ms
at 109ms crash p2 for 65.7ms
at 120ms cut p3 n2
at 131ms cut p3 n3
at 140ms cut p3 n1
at 152ms crash p3 for 166ms
at 207ms partition p4,n1 for 166ms
at 217ms stop n3 for 149ms
at 252ms crash p2 for 156ms
at 265ms crash p4 for 114ms
at 372ms stop n3 for 45ms
at 454ms pause p2 for 94.5ms
at 463ms pause-midway p3 for 39.9ms
at 510ms ghost n2 by 28.1ms for 0s
