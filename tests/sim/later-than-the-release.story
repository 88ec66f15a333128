# A request that comes after the lease for which RELEASE is repeated
# The client has forgotten that owner by then: what the request leaves behind at
# that node lasts as long as its lease, and breaks nothing.
nodes 5
processes 4
seed 703773324
regime restart-durable
max_ttl 178ms
node_timeout 10ms
delay 200us
jitter 104us
late 137ppm by 336ms
shatter 7061ppm
calm 628ms
turn p1 name a think 17ms ttl 178ms
turn p1 name a ttl 178ms
turn p2 name a think 10ms ttl 178ms hands-on
turn p3 name a think 9ms ttl 178ms
turn p4 name a think 13ms wait 47ms ttl 178ms
turn p4 name a ttl 178ms
turn p4 name a ttl 178ms
at 1.9ms partition p3,n1,n3 for 154ms
at 16ms restart n5 for 38.3ms
at 103ms stop n2 for 54ms
at 221ms stop n3 for 108ms
at 232ms stop n4 for 45ms
at 396ms partition p1,p2,p3,n2,n4 for 217ms
at 396ms ghost p1 n5 by 1.84ms for 0s
at 396ms ghost p4 by 2.96ms for 0s
