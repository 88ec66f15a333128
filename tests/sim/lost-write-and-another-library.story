# Another library takes a name whose renewal was lost with the server's memory
# n1 is configured to sync seldom and restarts with its data of 51.5 ms before.
# Holdfast gives it no vote; a plain client knows no quarantine. No promise.
nodes 1
processes 2
seed 1006813
regime restart-durable
max_ttl 55ms
node_timeout 9ms
delay 200us
jitter 0s
calm 75ms
turn p1 name a think 30ms ttl 55ms foreign
turn p2 name a ttl 55ms hold 58.5ms
at 0s unsynced n1 for 75ms
at 52ms age n1 by 51.5ms for 1ms
