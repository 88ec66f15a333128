# No client waits without a ticket
# What p4 was granted ran out before the last node answered, and none had refused
# it: it waited under tickets that the nodes made up, and never stood back.
nodes 3
processes 4
seed 517
regime clocks-right-rates
max_ttl 72ms
node_timeout 17ms
delay 200us
jitter 98us
shatter 12746ppm
rate p4 -4500ppm
calm 800ms
turn p1 name a ttl 72ms
turn p1.2 name a think 123ms ttl 72ms
turn p1.2 name a think 181ms ttl 72ms shared
turn p2 name a think 216.898ms ttl 72ms hold 1ms
turn p2 name a think 122ms ttl 72ms
turn p3 name a think 216ms ttl 72ms
turn p4 name a think 213ms wait none ttl 72ms
turn p4 name a think 16ms ttl 72ms
turn p4.2 name a think 76.7ms ttl 72ms
turn p4.2 name a think 183ms ttl 72ms shared
at 172ms partition p2,p3,n2 for 46.5ms
at 189ms cut p4 n2
at 193ms partition p4 for 24.6ms
at 286ms partition p2,p4,n1,n2 for 94.5ms
at 345ms deafness n2 for 45ms
at 439ms partition p2,n1 for 77.6ms
at 466ms partition p1,p3,n3 for 1ms
at 489ms partition p1,p2,p3,n2 for 189ms
at 561ms cut p4
at 621ms stop n3 for 72.4ms
at 629ms cut p2 n3
at 744ms deafness n3 for 10ms
