# A YIELD that comes late gives back nothing but what it names
# A YIELD of p2 arrives after the raise at which p2 holds the lock: a process that
# waits must not be granted it.
nodes 3
processes 4
seed 22
regime network
max_ttl 129ms
node_timeout 14ms
delay 173us
jitter 217us
late 29818ppm by 81ms
calm 1.12s
turn p1 name a ttl 129ms hold 22.6ms extends 2
turn p1 name a think 74ms ttl 129ms hold 22.2ms
turn p1 name a think 52.7ms ttl 129ms hold 16ms
turn p1 name a ttl 129ms hold 39.5ms
turn p1 name a ttl 129ms
turn p1 name a think 1ms wait none ttl 129ms
turn p1 name a ttl 129ms
turn p2 name a think 18.6ms ttl 129ms hold 15.7ms extends 2
turn p2 name a think 51.8ms ttl 129ms hold 41ms
turn p2 name a think 82.2ms ttl 129ms hold 3.62ms
turn p2 name a ttl 129ms
turn p2 name a think 43.9ms wait 113ms ttl 129ms
turn p2 name a think 52.9ms ttl 129ms hold 1ms unfair
turn p3 name a think 35.2ms wait none ttl 129ms
turn p3 name a think 23ms ttl 129ms hold 35.9ms
turn p3 name a ttl 129ms
turn p3 name a ttl 129ms
turn p4 name a think 6ms ttl 129ms hold 1.85ms
turn p4 name a think 34.4ms ttl 129ms hold 7.83ms extends 2
turn p4 name a think 74.2ms ttl 129ms hold 29.4ms
turn p4 name a ttl 129ms hold 38.8ms
turn p4 name a ttl 129ms
turn p4 name a ttl 129ms
at 91.8ms pause-midway p2 for 151ms
at 113ms silence p3 n2 for 19.6ms
at 179ms full n1 for 139ms
at 241ms pause-midway p2 for 7.1ms
at 374ms silence n2 for 166ms
at 421ms reboot p1 for 40ms
at 433ms full n3 for 102ms
at 459ms partition p3,n1 for 182ms
at 793ms pause-midway p4 for 143ms
at 882ms partition p3,n1 for 8ms
at 901ms silence p4 n3 for 74ms
at 949ms reboot p4 for 13ms
