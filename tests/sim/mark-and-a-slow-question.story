# A mark that is found by a slow question
# Counted from the sending of the question its end would be too early, and a
# command would start in that period: it counts from the answer.
nodes 1
processes 5
seed 1187
regime clocks-right-rates
max_ttl 3.71s
node_timeout 376ms
delay 200us
jitter 54us
late 38710ppm by 312ms
calm 15.888s
turn p1 name a ttl 3.402s hold 1.05s shared
turn p1 name a think 5.759s ttl 2.206s hold 265ms once 3.09s
turn p1.3 name a think 2ms ttl 3.228s hold 655ms extends 3
turn p2 name a think 3.5s wait 2.989s ttl 1.787s
turn p2 name a think 423ms ttl 2.687s hold 546ms
turn p2.3 name a think 4.4s ttl 2.8s hold 1.14s
turn p3.2 name a think 1.44s ttl 2.217s hold 435ms
turn p3.2 name a ttl 2.741s hold 1.21s
turn p4 name a think 1.18s ttl 3.178s hold 611ms once 3.09s
turn p4 name a ttl 1.236s
turn p4.2 name a think 7.88s ttl 3.64s once 3.09s
turn p4.3 name a ttl 2.286s shared
turn p4.3 name a think 5.68s ttl 961ms hold 1.24s writes 2 extends 3
turn p5 name a think 1.86s ttl 3.274s hold 936ms
turn p5.2 name a think 2.438s ttl 1.015s hold 5.17s
turn p5.3 name a think 1.1s ttl 1.037s
turn p5.3 name a ttl 932ms once 3.09s
at 3.78s ghost p4 n1 by 12.8ms for 0s
at 8.205s ghost p4 n1 by 156ms for 0s
at 13.15s partition p1 for 1.9s
