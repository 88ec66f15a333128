# A push that is older than the last "queued"
# p2 holds "a" and releases it; p1's grants arrive behind its "queued", since it was
# cut off, and it has returned them.
nodes 5
processes 2
seed 4027
regime clocks-right-rates
max_ttl 366ms
node_timeout 50ms
queues off
delay 200us
jitter 1.133ms
shatter 33559ppm
wall n3 1.094s
wall n5 632ms
calm 680ms
turn p1 name a think 22ms ttl 366ms cancel 4.403ms
turn p1 name a think 4ms ttl 366ms
turn p2 name a ttl 366ms
turn p2 name a ttl 366ms hold 585ms
turn p2 name a ttl 366ms hold 1ms
at 395ms partition p2,n1,n2,n3,n4,n5 for 215ms
