# p2 releases while p3's break has the name, and p3 gives the break up
# (docs/caveats.md): the name is given back to p2, and ends with its lease.
nodes 5
processes 3
seed 332440178
regime network
max_ttl 8.825s
node_timeout 374ms
queues off
delay 200us
jitter 37us
late 18113ppm by 2.865s
calm 1.09s
turn p2 name a ttl 8.825s hold 1.08s
turn p3 name a think 862ms wait none ttl 8.825s break
turn p3 name a ttl 8.825s
