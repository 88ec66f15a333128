# A server is flushed, and a command that never met it asks
# To p2 the server looks new. It may as well have been emptied: p2 must not be
# granted the lock before every lease from before is over.
nodes 1
processes 3
regime flush
max_ttl 10s
delay 2ms
jitter 1ms
calm 30s
brief p2
brief p3
turn p1 name a ttl 10s think 1s hold 30s
turn p2 name a ttl 10s think 4s wait none hold 2s
turn p3 name a ttl 10s think 5s wait 20s hold 2s
at 2800ms silence p1 n1 for 20s
at 3s flush n1
